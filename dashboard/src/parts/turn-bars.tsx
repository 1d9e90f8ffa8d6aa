import type { TurnView } from "../api.ts";
import { number, signed } from "../format.ts";
import { weightsOf } from "./tokens.tsx";

/** Advantage times M, and M itself, of every turn: which turns the update moved, and which way. */
export function TurnBars({ turns }: { readonly turns: readonly TurnView[] }) {
  const rows = turns.map((turn) => {
    const update = turn.updates.at(-1);
    return {
      turn: turn.turn,
      advantage: update?.advantage ?? null,
      factor: update?.factor ?? null,
      weight: weightsOf(turn).reduce((a, b) => a + b, 0),
      updated: turn.updates.length > 0,
    };
  });
  if (rows.every(({ updated }) => !updated)) return null;
  const byAdvantage = rows.some(({ advantage }) => advantage !== null);
  const size = (row: (typeof rows)[number]) => (byAdvantage ? (row.advantage ?? 0) * (row.factor ?? 1) : row.weight);
  const largest = Math.max(...rows.map((row) => Math.abs(size(row)))) || 1;
  const factors = rows.flatMap(({ factor }) => (factor === null ? [] : [Math.abs(factor - 1)]));
  const widest = Math.max(...factors, 1e-6);
  return (
    <section class="panel turn-bars" aria-label="Credit of the turns">
      <h2>{byAdvantage ? "Advantage and M of each turn" : "Weight of each turn"}</h2>
      <ol>
        {rows.map((row) => (
          <li key={row.turn}>
            <a
              href={`#turn-${row.turn}`}
              onClick={(event) => {
                event.preventDefault();
                scrollTo(row.turn);
              }}
            >
              {row.turn + 1}
            </a>
            <Bar value={size(row)} scale={largest} />
            <span class="n">{row.updated ? signed(size(row)) : "not moved"}</span>
            {row.factor !== null ? (
              <>
                <Bar value={row.factor - 1} scale={widest} thin />
                <span class="n muted">M {number(row.factor, 5)}</span>
              </>
            ) : (
              <>
                <span />
                <span />
              </>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

function scrollTo(turn: number): void {
  document.getElementById(`turn-${turn}`)?.scrollIntoView({ block: "center", behavior: "smooth" });
}

/** From the middle to the right for what is above 0, to the left for what is below. */
function Bar({ value, scale, thin = false }: { readonly value: number; readonly scale: number; readonly thin?: boolean }) {
  const width = (Math.abs(value) / scale) * 50;
  return (
    <svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <line x1="50" x2="50" y1="0" y2="10" />
      <rect
        class={value < 0 ? "down" : "up"}
        x={value < 0 ? 50 - width : 50}
        y={thin ? 3 : 0}
        width={width}
        height={thin ? 4 : 10}
      />
    </svg>
  );
}
