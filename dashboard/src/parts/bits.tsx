import type { ComponentChildren } from "preact";
import type { RunState } from "../api.ts";

const words: Readonly<Record<RunState, string>> = { running: "training", paused: "paused", finished: "finished", stopped: "stopped" };

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

export function Stat({ label, value, note, tone }: { readonly label: string; readonly value: string; readonly note?: string; readonly tone?: string }) {
  return (
    <div class="stat">
      <span class="stat-label">{label}</span>
      <span class={`stat-value ${tone ?? ""}`}>{value}</span>
      {note !== undefined && <span class="stat-note">{note}</span>}
    </div>
  );
}
