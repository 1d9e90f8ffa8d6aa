"""Writes seeupo-forms.json: whole SeeUPO updates of a shared table, by the equations of arXiv:2602.06554 (section 4) and by its published code's form.

    python seeupo-forms.py > seeupo-forms.json      (numpy, autograd)

Plain numbers in, plain gradient ascent out; nothing of the product is read. Every trajectory takes part in every formula: what has no signal
multiplies zeros.
"""
import json
import numpy as onp
import autograd.numpy as np
from autograd import grad

V = 5  # tokens, which are the table's rows too: a token has log-prob log_softmax(table[the token before it])[token]


def logprobs(table, turn):
    before = onp.array([turn["context"]] + turn["action"][:-1])
    rows = table[before]
    return rows[onp.arange(len(before)), onp.array(turn["action"])] - np.log(np.sum(np.exp(rows), axis=1))


def advantages(groups, bound):
    centred = []
    for group in groups:
        rewards = [t["reward"] for t in group]
        centred += [0.0 if len(set(rewards)) == 1 else r - sum(rewards) / len(rewards) for r in rewards]  # (9); one sample: nothing to compare
    deviation = onp.std(centred, ddof=1)
    normalised = onp.array(centred) / (deviation if deviation > 1e-6 else 1)  # over the batch, whose mean is 0: every group is centred
    return normalised if bound is None else onp.clip(normalised, -bound, bound)


def run(params, table, groups):
    trajectories = [t for group in groups for t in group]
    A = advantages(groups, params["bound"])
    start = onp.array(table)
    theta = start.copy()
    low, high = 1 - params["clip"]["low"], 1 + params["clip"]["high"]
    carry = params["carryClip"]
    mean = onp.mean if params["carryRatio"] == "geometric" else onp.sum
    M = onp.ones(len(trajectories))
    losses, seen, clipped, tokens_of = [], [], [], []
    for t in params["order"]:
        reached = [i for i, trajectory in enumerate(trajectories) if t < len(trajectory["turns"])]
        moving = [i for i in reached if A[i] != 0 or params["kl"] > 0]
        if not moving:
            continue
        turn = lambda i: trajectories[i]["turns"][t]
        at_turn = {i: onp.array(logprobs(theta, turn(i))) for i in reached}
        at_start = {i: onp.array(logprobs(start, turn(i))) for i in reached}
        old = at_start if params["ratioTo"] == "iteration" else at_turn
        factor = {i: M[i] * A[i] for i in reached}
        seen += [M[i] for i in reached if A[i] != 0]

        def loss(x):
            total = 0.0
            for i in reached:
                now = logprobs(x, turn(i))
                r = np.exp(np.mean(now - old[i]))  # sequence level, as GSPO forms it
                total = total - np.minimum(r * factor[i], np.minimum(np.maximum(r, low), high) * factor[i])  # (6)
                if params["kl"] > 0:
                    gap = at_start[i] - now  # k3 to the reference, which is the start here; cut off at 10
                    total = total + params["kl"] * np.mean(np.minimum(np.exp(gap) - gap - 1, 10))
            return total / len(reached)

        for _ in range(params["epochs"]):
            losses.append(float(loss(theta)))
            bound, count = 0, 0
            for i in moving:
                r = float(onp.exp(onp.mean(onp.array(logprobs(theta, turn(i))) - old[i])))
                n = len(turn(i)["action"])
                count += n
                bound += n if (factor[i] > 0 and r > high) or (factor[i] < 0 and r < low) else 0
            clipped.append(bound / count)
            theta = theta - params["rate"] * grad(loss)(theta)
        base = at_start if params["carryRatioTo"] == "iteration" else at_turn
        for i in reached:
            r = float(onp.exp(mean(onp.array(logprobs(theta, turn(i))) - base[i])))
            if carry is None:
                M[i] *= r  # (8)
            else:
                inside = lambda x: min(max(x, 1 - carry["low"]), 1 + carry["high"])
                M[i] = inside(M[i] * inside(r))
    return {
        "table": theta.tolist(), "losses": losses, "clipFraction": float(onp.mean(clipped)),
        "carried": {t["id"]: float(m) for t, m, a in zip(trajectories, M, A) if a != 0},
        "read": [float(min(seen)), float(max(seen))],
    }  # fmt: skip


PAPER = dict(ratioTo="iteration", carryRatioTo="iteration", carryRatio="geometric", carryClip=None, bound=None, kl=0)
CODE = dict(ratioTo="turn", carryRatioTo="turn", carryRatio="geometric", carryClip={"low": 0.2, "high": 0.2}, bound=3, kl=0.002)
WIDE, NARROW = {"low": 0.2, "high": 0.2}, {"low": 0.02, "high": 0.03}


def world(random, what):
    def turns():
        return [
            {"context": int(random.integers(V)), "action": [int(a) for a in random.integers(0, V, int(random.integers(1, 4)))]}
            for _ in range(int(random.integers(0 if what == "no-op" else 1, 4)))
        ]

    groups = [[{"id": f"{g}-{k}", "reward": float(random.choice([0, 0.5, 1, 2])), "turns": turns()} for k in range(3)] for g in range(3)]
    groups[0][0]["reward"], groups[0][1]["reward"] = 1.0, 0.25  # some signal in every world
    for trajectory in groups[0]:
        trajectory["turns"] += [turn for turn in [{"context": 1, "action": [2, 3]}] if not trajectory["turns"]]
    if what == "one-sample":
        groups[1], groups[2] = groups[1][:1], groups[2][:1]
    if what == "equal-rewards":
        for trajectory in groups[1]:
            trajectory["reward"] = 0.5
    if what == "negative":
        for group in groups:  # the best of a group ended at once: all that is updated late is to become less likely
            for k, trajectory in enumerate(group):
                trajectory["reward"] = 3.0 if k == 0 else float(random.choice([0, 0.25, 0.5]))
            group[0]["turns"] = []
    table = onp.round(random.normal(0, 0.7, (V, V)), 3).tolist()
    return table, groups


VARIANTS = [
    *[(f"paper/{what}", PAPER, what, {}) for what in ("plain", "no-op", "one-sample", "equal-rewards", "negative")],
    ("paper/unreached", PAPER, "plain", {"order": [6, 2, 4, 1, 0]}),
    ("paper/sequential", PAPER, "plain", {"order": [0, 1, 2]}),
    ("paper/bound-clip", PAPER, "plain", {"rate": 6.0, "clip": NARROW}),
    ("paper/bound-clip-epochs", PAPER, "plain", {"rate": 4.0, "clip": NARROW, "epochs": 3}),
    ("paper/far", PAPER, "plain", {"rate": 25.0, "clip": {"low": 0.9, "high": 9.0}}),
    *[(f"product/{what}", PAPER, what, {"carryRatio": "product"}) for what in ("plain", "no-op", "negative")],
    ("product/far", PAPER, "plain", {"carryRatio": "product", "rate": 15.0}),
    *[(f"code/{what}", CODE, what, {}) for what in ("plain", "no-op", "one-sample", "equal-rewards", "negative")],
    ("code/bound-clip-epochs", CODE, "plain", {"rate": 4.0, "clip": NARROW, "epochs": 3}),
    ("code/far", CODE, "plain", {"rate": 8.0, "bound": 1.0}),
    ("loss-to-iteration/plain", CODE, "no-op", {"ratioTo": "iteration", "rate": 6.0}),
    ("carry-to-iteration/plain", CODE, "no-op", {"carryRatioTo": "iteration", "carryClip": None, "rate": 6.0}),
]

def named(name, out):
    """A case has what its name says."""
    low, high = out["read"]
    assert onp.all(onp.isfinite([*out["losses"], low, high])), name
    assert out["clipFraction"] > 0.2 or "bound-clip" not in name, name
    assert (low < 0.3 or high > 3) or "far" not in name or "code" in name, name
    return out


rounded = lambda value: json.loads(json.dumps(value), parse_float=lambda text: float(f"{float(text):.13g}"))
lines = []
for v, (name, form, what, changes) in enumerate(VARIANTS):
    for n in range(3):
        random = onp.random.default_rng([v, n])
        table, groups = world(random, what)
        params = {"order": [2, 1, 0], "epochs": 1, "clip": WIDE, "rate": 2.0, **form, **changes}
        case = {"id": f"seeupo/{name}/{n}", "params": params, "inputs": {"table": table, "groups": groups}}
        lines.append(json.dumps({**case, "outputs": rounded(named(name, run(params, table, groups)))}, separators=(",", ":")))
print("[\n" + ",\n".join(lines) + "\n]")
