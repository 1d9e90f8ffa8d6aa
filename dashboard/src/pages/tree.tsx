import { ask, type RunDetail, type TreeView, useAsked } from "../api.ts";
import { number, signed } from "../format.ts";
import { Choice, Pending, plainly, Scroll } from "../parts/bits.tsx";
import { link, type Route, setQuery } from "../router.ts";

type Node = TreeView["root"];

/** A turn of the picture. */
interface Placed {
  readonly node: Node;
  readonly x: number;
  readonly y: number;
  readonly parent?: Placed;
}

const [widest, down, margin] = [118, 34, 26];

/** The rollouts of a task as a tree: what they share is drawn once. */
export function TreePage({ run, route }: { readonly run: RunDetail; readonly route: Route }) {
  const last = run.steps.at(-1)?.step ?? 0;
  const step = Number(route.query.get("step") ?? last);
  const group = route.query.get("group") ?? undefined;
  const asked = useAsked<TreeView>(step === 0 ? undefined : `${run.row.id}/${step}/${group}`, () =>
    ask("/api/run/tree", { run: run.row.id, step, group }),
  );
  const { value } = asked;
  if (step === 0) return <p class="empty">No step is done yet.</p>;
  return (
    <>
      <div class="tools">
        <h2>Rollouts of a task</h2>
        <Choice
          label="Step "
          value={String(step)}
          options={plainly(run.steps.map((record) => record.step))}
          onChange={(to) => setQuery(route, { step: to, group: undefined })}
        />
        {value !== undefined && (
          <Choice
            label="Task "
            value={value.group}
            options={value.groups.map(({ group, task, reward, branched }) => [
              group,
              `${task} · reward ${number(reward, 2)}${branched ? " · branched" : ""}`,
            ])}
            onChange={(to) => setQuery(route, { group: to })}
          />
        )}
      </div>
      <p class="muted">
        A dot is a turn, as large as its tokens are many, as dark as their entropy. A ring is a point at which branches were
        forked. Leaves have their reward; click to read. A dashed line leads to a history that was rewritten, a dotted one to a
        context of its own, as a sub-agent has.
      </p>
      <Pending asked={asked} text="Reading the tree …" />
      {value !== undefined && <Tree run={run.row.id} view={value} />}
    </>
  );
}

/** One of several ends with the same reward, else the first three. */
function shownEnds({ ends }: Node): Node["ends"] {
  return new Set(ends.map(({ reward }) => reward)).size === 1 ? ends.slice(0, 1) : ends.slice(0, 3);
}

function descentOf({ descent, kept, context }: Node): string {
  return descent === "fresh"
    ? `a context of its own, ${context} tokens`
    : `a rewritten history: ${kept} of its ${context} tokens are as before`;
}

function depthOf({ children }: Node): number {
  return 1 + Math.max(0, ...children.map(depthOf));
}

function Tree({ run, view }: { readonly run: string; readonly view: TreeView }) {
  const placed: Placed[] = [];
  const across = Math.max(48, Math.min(widest, 1040 / depthOf(view.root)));
  let row = 0;
  const place = (node: Node, depth: number): Placed => {
    const children = node.children.map((child) => place(child, depth + 1));
    // An end takes a row of its own only where nothing continues from it.
    const rows = children.map(({ y }) => y);
    const y = rows.length === 0 ? margin + down * row++ : (Math.min(...rows) + Math.max(...rows)) / 2;
    const own: Placed = { node, x: margin + across * depth, y };
    placed.push(own);
    for (const child of children) (child as { parent?: Placed }).parent = own;
    return own;
  };
  place(view.root, 0);
  const depth = Math.max(...placed.map(({ x }) => x));
  const [width, height] = [depth + 210, margin * 2 + down * Math.max(1, row - 1) + 10];
  const highest = Math.max(...placed.map(({ node }) => node.entropy), 1e-9);
  const rewards = placed.flatMap(({ node }) => node.ends.map(({ reward }) => reward));
  const [low, high] = [Math.min(...rewards), Math.max(...rewards)];
  return (
    <Scroll label={`Tree of ${view.task}: ${view.root.leaves} rollouts`} panel>
      <svg class="tree" width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-label="Tree of rollouts">
        {placed.map(({ node, x, y, parent }) => {
          if (parent === undefined) return null;
          const middle = (parent.x + x) / 2;
          return (
            <path
              key={`e${node.turn}/${node.trajectory}`}
              class={`edge ${node.descent}`}
              style={{ strokeWidth: 1 + Math.sqrt(node.leaves) }}
              d={`M${parent.x} ${parent.y} C${middle} ${parent.y} ${middle} ${y} ${x} ${y}`}
            >
              {node.descent !== "continues" && <title>{descentOf(node)}</title>}
            </path>
          );
        })}
        {placed.map(({ node, x, y }) => {
          const radius = node.turn < 0 ? 7 : 4 + Math.min(6, Math.sqrt(node.tokens) / 2);
          const where = link(["run", run, "trajectory"], {
            id: node.trajectory,
            token: node.turn < 0 ? undefined : `${node.turn}.0`,
          });
          return (
            <g key={`${node.turn}/${node.trajectory}`}>
              {node.forks > 0 && <circle class="fork" cx={x} cy={y} r={radius + 4} />}
              <a href={where} aria-label={node.turn < 0 ? "the task" : `turn ${node.turn + 1} of ${node.trajectory}`}>
                <circle
                  class={node.turn < 0 ? "node root" : "node"}
                  style={{ "--entropy": node.entropy / highest }}
                  cx={x}
                  cy={y}
                  r={radius}
                >
                  <title>
                    {node.turn < 0
                      ? view.task
                      : `turn ${node.turn + 1}: ${node.tokens} tokens, entropy ${number(node.entropy)} nats${node.rise === undefined ? "" : `, ΔH ${signed(node.rise)}`}; ${node.leaves} rollouts, mean reward ${number(node.reward)}${node.descent === "continues" ? "" : `; ${descentOf(node)}`}`}
                  </title>
                </circle>
              </a>
              {node.children.length > 1 && node.turn >= 0 && (
                <text class="branch-note" x={x} y={y - radius - 5} text-anchor="middle">
                  H {number(node.entropy, 2)}
                </text>
              )}
              {node.ends.length > 0 && (
                <text x={x + radius + 8} y={y + 4}>
                  {shownEnds(node).map(({ id, reward }, i) => (
                    <tspan key={id} class={reward === high && high > low ? "win" : reward === low && high > low ? "loss" : ""}>
                      {i > 0 ? "  " : ""}
                      {number(reward, 2)}
                    </tspan>
                  ))}
                  {node.ends.length > shownEnds(node).length && <tspan class="muted"> × {node.ends.length}</tspan>}
                </text>
              )}
            </g>
          );
        })}
      </svg>
    </Scroll>
  );
}
