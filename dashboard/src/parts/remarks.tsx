import { useState } from "preact/hooks";
import { ask, type Remarks, send, useAsked } from "../api.ts";

/** Remarks of a run, and a way to add one. */
function useRemarks(run: string) {
  const [added, setAdded] = useState<Remarks | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const { value, error } = useAsked<Remarks>(run, () => ask("/api/run/remarks", { run }));
  const add = (remark: object) =>
    send<Remarks>("/api/run/remarks", { run }, remark).then(
      (all) => {
        setAdded(all);
        setProblem(undefined);
      },
      (failure: Error) => setProblem(failure.message),
    );
  return { remarks: added ?? value ?? [], problem: problem ?? error, add };
}

/** Notes on a run. They are in its folder. */
export function Notes({ run }: { readonly run: string }) {
  const { remarks, problem, add } = useRemarks(run);
  const [text, setText] = useState("");
  return (
    <section aria-label="Notes">
      <h2>Notes</h2>
      {remarks.map(({ at, remark }) =>
        remark.kind === "note" ? (
          <p key={at}>
            <span class="muted">{at.slice(0, 16).replace("T", " ")}</span> {remark.text}
          </p>
        ) : null,
      )}
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() !== "") add({ kind: "note", text }).then(() => setText(""));
        }}
      >
        <label class="grow">
          Note
          <input type="text" maxLength={4000} value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <button type="submit" disabled={text.trim() === ""}>
          Add
        </button>
      </form>
      {problem !== undefined && <p role="alert">{problem}</p>}
    </section>
  );
}

/** A person's own reward for an episode; pressed once more it is taken back. */
export function Mark({ run, trajectory }: { readonly run: string; readonly trajectory: string }) {
  const { remarks, problem, add } = useRemarks(run);
  const last = remarks.findLast(({ remark }) => remark.kind === "mark" && remark.trajectory === trajectory)?.remark;
  const current = last?.kind === "mark" ? last.reward : null;
  const button = (reward: number, words: string) => (
    <button
      type="button"
      aria-pressed={current === reward}
      onClick={() => add({ kind: "mark", trajectory, reward: current === reward ? null : reward })}
    >
      {words}
    </button>
  );
  return (
    <span class="choices">
      {button(1, "Mark as good")}
      {button(0, "Mark as bad")}
      {problem !== undefined && <span role="alert">{problem}</span>}
    </span>
  );
}
