"""``bslc compare``: whether two models, or a model and a peer, give the same results, and which node differs first."""
