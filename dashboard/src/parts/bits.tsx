import type { ComponentChildren } from "preact";
import type { RunState } from "../api.ts";

const words: Readonly<Record<RunState, string>> = {
  running: "training",
  finished: "finished",
  stopped: "stopped",
};

export function StatePill({ state }: { readonly state: RunState }) {
  return <span class={`pill ${state}`}>{words[state]}</span>;
}

export function Problem({ text }: { readonly text: string }) {
  return (
    <p class="problem" role="alert">
      {text}
    </p>
  );
}

export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

export function Stat({ label, value, note }: { readonly label: string; readonly value: string; readonly note?: string }) {
  return (
    <div class="stat">
      <span class="stat-label">{label}</span>
      <span class="stat-value">{value}</span>
      {note !== undefined && <span class="stat-note">{note}</span>}
    </div>
  );
}

/** What may be wider than the page: it scrolls by itself, also by the keyboard. */
export function Scroll({
  label,
  panel = false,
  children,
}: {
  readonly label: string;
  readonly panel?: boolean;
  readonly children: ComponentChildren;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it the keyboard could not scroll
    <section class={panel ? "scroll panel" : "scroll"} tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}

/** A column's heading: text, text over figures, or a text for screen readers alone. */
export type Column = string | { readonly number: string } | { readonly hidden: string };

export function Columns({ names }: { readonly names: readonly Column[] }) {
  return (
    <thead>
      <tr>
        {names.map((name) => {
          if (typeof name === "string")
            return (
              <th key={name} scope="col">
                {name}
              </th>
            );
          if ("number" in name)
            return (
              <th key={name.number} scope="col" class="n">
                {name.number}
              </th>
            );
          return (
            <th key={name.hidden} scope="col">
              <span class="hidden">{name.hidden}</span>
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

/** The page of an address that there is not. */
export function Nowhere() {
  return (
    <Empty>
      There is no page at this address. <a href="#/">All runs</a>
    </Empty>
  );
}
