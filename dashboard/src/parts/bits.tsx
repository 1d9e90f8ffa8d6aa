import type { ComponentChildren } from "preact";
import type { Asked, RunState } from "../api.ts";

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

/** Shown of a question to the server until its answer is there: what is wrong, else that it is read. */
export function Pending({ asked: { value, error }, text }: { readonly asked: Asked<unknown>; readonly text: string }) {
  if (error !== undefined) return <Problem text={error} />;
  return value === undefined ? <p class="muted">{text}</p> : null;
}

/** A named choice of several values. */
export function Choice({ label, value, options, onChange, none }: ChoiceProps) {
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {none !== undefined && <option value="">{none}</option>}
        {options.map(([option, words]) => (
          <option key={option} value={option}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, words: ComponentChildren])[];
  readonly onChange: (value: string) => void;
  /** The words for no value, where there may be none. */
  readonly none?: string;
}

/** The same text for each value. */
export function plainly(values: readonly (string | number)[]): (readonly [string, string])[] {
  return values.map((value) => [String(value), String(value)]);
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
          const text = typeof name === "string" ? name : "number" in name ? name.number : name.hidden;
          const kind = typeof name === "object" && "number" in name ? "n" : undefined;
          return (
            <th key={text} scope="col" class={kind}>
              {typeof name === "object" && "hidden" in name ? <span class="hidden">{text}</span> : text}
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
