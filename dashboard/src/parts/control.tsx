import { useState } from "preact/hooks";
import { type RunDetail, send } from "../api.ts";
import { number } from "../format.ts";

/** Pause, resume, stop, another learning rate: each takes effect before the run's next step. */
export function Control({ run: { row } }: { readonly run: RunDetail }) {
  const [said, setSaid] = useState("");
  const [rate, setRate] = useState("");
  if (row.state !== "running" && row.state !== "paused") return null;
  const request = (body: object, words: string) =>
    send("/api/run/control", { run: row.id }, body).then(
      () => setSaid(`${words} before the next step.`),
      (error: Error) => setSaid(error.message),
    );
  const value = Number(rate);
  return (
    <div class="control">
      {row.state === "paused" ? (
        <button type="button" onClick={() => request({ action: "resume" }, "Continues")}>
          Resume
        </button>
      ) : (
        <button type="button" onClick={() => request({ action: "pause" }, "Pauses")}>
          Pause
        </button>
      )}
      <button type="button" class="danger" onClick={() => request({ action: "stop" }, "Stops, to be resumed with --resume,")}>
        Stop
      </button>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (value > 0) request({ action: "learning-rate", value }, `Learning rate ${number(value)}`);
        }}
      >
        <label>
          <span class="hidden">New learning rate</span>
          <input
            type="text"
            inputMode="decimal"
            placeholder="learning rate"
            size={11}
            value={rate}
            onInput={(event) => setRate(event.currentTarget.value)}
          />
        </label>
        <button type="submit" disabled={!(value > 0)}>
          Set
        </button>
      </form>
      <span class="said" role="status">
        {said}
      </span>
    </div>
  );
}
