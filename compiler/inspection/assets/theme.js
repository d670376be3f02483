// Light, dark, or as the system has it; remembered where the browser lets a file remember.

const THEMES = ['system', 'light', 'dark'];

function storedTheme() {
  try {
    const stored = localStorage.getItem('basalt-theme');
    return THEMES.includes(stored) ? stored : 'system';
  } catch {
    return 'system';
  }
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem('basalt-theme', theme);
  } catch {
    // Not remembered then.
  }
  document.dispatchEvent(new CustomEvent('themed'));
}

function themeChooser() {
  const chooser = el('select', { 'aria-label': 'Theme', title: 'Theme', id: 'theme' },
    THEMES.map((t) => el('option', { value: t }, `${t[0].toUpperCase()}${t.slice(1)}`)));
  chooser.value = document.documentElement.dataset.theme;
  chooser.addEventListener('change', () => setTheme(chooser.value));
  return chooser;
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

document.documentElement.dataset.theme = storedTheme();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => document.dispatchEvent(new CustomEvent('themed')));
