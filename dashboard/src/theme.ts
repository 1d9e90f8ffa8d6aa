import { useEffect, useState } from "preact/hooks";

export type Theme = "light" | "dark";

const key = "retrograde-theme";

/** The chosen theme, else the system's. */
export function useTheme(): readonly [Theme, () => void] {
  const [theme, setTheme] = useState<Theme>(() => {
    const chosen = localStorage.getItem(key);
    if (chosen === "light" || chosen === "dark") return chosen;
    return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  });
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  const toggle = () => {
    const next = theme === "dark" ? "light" : "dark";
    localStorage.setItem(key, next);
    setTheme(next);
  };
  return [theme, toggle];
}

/** A colour of the style sheet, for what is drawn on a canvas. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

export const seriesColours = ["s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"] as const;
