"""Random answers and responses, with what ARPO's published scorers make of them: `python arpo_scorers.py CHECKOUT SEED COUNT`.

CHECKOUT is a copy of github.com/dongguanting/ARPO. Prints JSON lines, four kinds of each count: `reward` of a whole response, metrics of `math`
and `qa`, and the `tags` of a text. Needs no package.
"""

import contextlib
import importlib
import importlib.util
import io
import json
import random
import sys
import types
from unittest.mock import MagicMock

checkout, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
package = types.ModuleType("published")
package.__path__ = [f"{checkout}/evaluation/src"]
sys.modules["published"] = package
# What is imported there and not used here.
for name in ["transformers", "numpy", "tqdm", "tqdm.asyncio", "published.llm_evaluator_sds"]:
    sys.modules[name] = MagicMock()
metrics, evaluator, utils = (importlib.import_module(f"published.{name}") for name in ["metrics", "evaluator", "utils"])
place = f"{checkout}/ARPO/verl_arpo_entropy/verl/utils/reward_score/deep_research.py"
spec = importlib.util.spec_from_file_location("published_reward", place)
reward = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reward)

rng = random.Random(seed)
words = [
    "the", "a", "an", "The", "Etna", "Mount", "yes", "no", "noanswer", "No", "42", "3.50", "U.S.", "é", "Ökonom", "İ", "ΣΑΣ", "ß", "日本", "東京",
    "\u3000", "\u00a0", "\u2028", "\u200b", "\ufeff", "\u0085", "\x1c", "-", "–", "'s", "a's", "x=5", "𝔸", "😀", "1,000", "10%", "$5", "(a)", "a_b", "²",
    "ﬁ", "ǅ", "\t", "\n", "",
]
formulas = [
    "\\frac{1}{2}", "\\frac12", "\\frac1{2}", "\\frac{1}2", "\\frac", "\\frac1", "\\dfrac{3}{4}", "\\tfrac34", "1/2", "-1/2", "01/2", "1/ 2", "+1/2",
    "1_0/2", "1/2/3", "a/b", "٣/٤", "0.5", ".5", "-.5", "x=5", "xy=5", "xyz=5", "x=y=5", "=5", "\\sqrt2", "\\sqrt{3}", "\\sqrt", "\\sqrt 5",
    "2\\sqrt[3]{4}", "5\\text{ cm}", "5\\text{ cm}\\text{ x}", "5\\text{cm}", "90^\\circ", "90^{\\circ}", "\\left(1,2\\right)", "(1,2)", "\\!1", "1\\\\2",
    "50\\%", "50%", "\\$5", "{.5}", " .5", "\n5", "\\pi", "x^2", "\\frac{\\sqrt3}{2}", "\\frac𝔸b", "\\sqrt𝔸", "\\mathbb{R}", "1e5", "10^{-3}",
    "\\text{A}", "A", "\\infty", "\\begin{pmatrix}1\\\\2\\end{pmatrix}", "0.50", "5.0", "5", "  5 ", "", "\\frac{}{}", "\\frac {1}{2}", "\\frac 12",
    "k=\\frac12", "0.5 ", "\\fracab", "5/1", "5/-2", "-5/-2", "--5/2", "0/5", "-0/5", "1/2\n", "٥", "\\boxed{5}", "\\boxed 5",
]
tags = [
    "<think>", "</think>", "<search>", "</search>", "<python>", "</python>", "<result>", "</result>", "<answer>", "</answer>", "\\boxed{", "}",
    "\\boxed ", "\\fbox{", "$", "{", "\\text{", "<r>", "</r>", "\n", "\n\n",
]


def text(most=4, pool=None):
    gap = rng.choice(["", " ", " "]) if rng.random() < 0.3 else " "
    return gap.join(rng.choice(pool or words + formulas) for _ in range(rng.randrange(most + 1)))


def formula(most):
    return text(most, formulas if rng.random() < 0.7 else None)


def damaged(whole):
    if whole == "":
        return whole
    at, other = sorted(rng.randrange(len(whole)) for _ in range(2))
    kind = rng.random()
    if kind < 0.4:
        return whole[:at] + whole[at + 1 :]
    return whole[:at] + (rng.choice("{}$\\ <>/a\n") + whole[at:] if kind < 0.7 else whole[other:])


def soup():
    return "".join(rng.choice(tags) if rng.random() < 0.6 else text(2) for _ in range(rng.randrange(20)))


def box():
    inside = text()
    return rng.choice(
        [
            f"\\boxed{{{inside}}}", f"\\boxed{{{inside}}}", f"\\boxed {inside}$", f"\\boxed{{\\text{{{inside}}}}}", f"\\fbox{{{inside}}}",
            f"\\boxed{{{inside}}} and \\boxed{{{text()}}}", f"\\boxed{inside}", f"\\boxed{{{{{inside}}}",
        ]
    )


def well_formed():
    parts = [f"<think>{text()}</think>"]
    for _ in range(rng.randrange(4)):
        tool = rng.choice(["search", "python"])
        parts.append(f"<{tool}>{text()}</{tool}>" + ("" if rng.random() < 0.1 else f"<result>{text(6)}</result>"))
        if rng.random() < 0.5:
            parts.append(f"<think>{text()}</think>")
    parts.append(f"<answer>{text()}{box()}{text()}</answer>")
    return rng.choice(["", " ", "\n"]).join(parts)


def response():
    whole = soup() if rng.random() < 0.15 else well_formed()
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        whole = damaged(whole)
    return whole


def gold_of(answered):
    if rng.random() < 0.4 and "\\boxed{" in answered:
        right = answered.split("\\boxed{")[-1].split("}")[0]
        return right if rng.random() < 0.6 else [right, text()]
    return text(3) if rng.random() < 0.6 else [text(3) for _ in range(rng.randrange(1, 4))]


def reference_of(prediction):
    if rng.random() < 0.3:
        bare = prediction.replace("{", "").replace("}", "")
        return rng.choice([prediction.upper(), prediction.replace("dfrac", "frac"), bare, prediction.replace(" ", "")])
    return formula(2) if rng.random() < 0.6 else damaged(prediction)


def show(kind, **fields):
    print(json.dumps({"kind": kind, **fields}))


for _ in range(count):
    answered = response()
    gold = gold_of(answered)
    with contextlib.redirect_stdout(io.StringIO()):
        scored = reward.compute_score("any", answered, gold)
    show("reward", response=answered, gold=gold, expected=[scored["score"], scored["f1_score"], scored["answer"]])
    prediction = formula(3)
    reference = reference_of(prediction)
    found = metrics.evaluate_math_prediction(prediction, reference)
    show("math", prediction=prediction, gold=reference, expected=[found[key] for key in ["em", "acc", "f1", "math_equal"]])
    several = rng.choice([reference, [reference, text()], f"[{reference}, '{text()}']", f"[{reference}", text()])
    found = metrics.evaluate_qa_prediction(prediction, several)
    show("qa", prediction=prediction, gold=several, expected=[found[key] for key in ["em", "acc", "f1", "math_equal"]])
    tagged = soup() if rng.random() < 0.6 else answered
    calls = [evaluator.count_valid_tags(tagged, tool) for tool in ["search", "python"]]
    show("tags", text=tagged, expected=[*calls, evaluator.remove_result_tags(tagged), utils.extract_answer(tagged) or ""])
