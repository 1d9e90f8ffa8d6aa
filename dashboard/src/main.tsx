import "@fontsource-variable/inter/wght.css";
import "@fontsource-variable/jetbrains-mono/wght.css";
import "uplot/dist/uPlot.min.css";
import "./styles.css";
import { render } from "preact";
import { ComparePage } from "./pages/compare.tsx";
import { RunPage } from "./pages/run.tsx";
import { RunsPage } from "./pages/runs.tsx";
import { Nowhere } from "./parts/bits.tsx";
import { useRoute } from "./router.ts";
import { useTheme } from "./theme.ts";
import { showSteeringCharacters } from "./visible.ts";

/** To the conversation of an episode, else to what stands below the navigation. */
function skip(): void {
  const [conversation, main] = [".chat-holder", "#main"].map((place) => document.querySelector<HTMLElement>(place));
  (conversation ?? main)?.focus();
}

const pages = ["runs", "run", "compare"];

function Page() {
  const route = useRoute();
  const [theme, toggleTheme] = useTheme();
  const [first = "runs"] = route.parts;
  const current = (name: string) => ((first === "run" ? "runs" : first) === name ? "page" : undefined);
  return (
    <>
      <button type="button" class="skip" onClick={skip}>
        Skip to the content
      </button>
      <header class="top">
        <a class="brand" href="#/">
          <svg viewBox="0 0 32 32" aria-hidden="true">
            <path d="M22.5 10.2A9 9 0 1 0 25 16" />
            <path d="M23.4 5.6v5.6h-5.6" />
            <circle cx="16" cy="16" r="2.6" />
          </svg>
          Retrograde
        </a>
        <nav aria-label="Main">
          <a href="#/" aria-current={current("runs")}>
            Runs
          </a>
          <a href="#/compare" aria-current={current("compare")}>
            Compare
          </a>
        </nav>
        <button
          type="button"
          class="quiet"
          onClick={toggleTheme}
          aria-label={`Switch to the ${theme === "dark" ? "light" : "dark"} theme`}
        >
          {theme === "dark" ? "☀" : "☾"}
        </button>
      </header>
      <main id="main" tabIndex={-1} key={theme}>
        {first === "runs" && <RunsPage />}
        {first === "run" && <RunPage route={route} />}
        {first === "compare" && <ComparePage route={route} />}
        {!pages.includes(first) && <Nowhere />}
      </main>
    </>
  );
}

showSteeringCharacters();
const root = document.getElementById("page");
root?.replaceChildren();
if (root !== null) render(<Page />, root);
