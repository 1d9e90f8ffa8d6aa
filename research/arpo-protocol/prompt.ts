/** Explains the protocol to the model, in our words; ARPO's data files bring the prompt of its authors with every question. */
export const systemPrompt = String.raw`You solve the given question step by step. A Wikipedia search tool and a Python interpreter help you.
Think first, inside <think> </think>. Whenever you need a fact, write a query inside <search> </search>; whenever you need a calculation, write code inside <python> </python> and print what you want to see. You then read the tool's answer inside <result> </result>, and go on thinking. Finish with the final text inside <answer> </answer>, with the exact answer in \boxed{}.
For example: <think> what to look for </think> <search> query </search> <result> what was found </result> <think> what to calculate </think> <python> code </python> <result> what it printed </result> <think> what follows </think> <answer> The final answer is \[ \boxed{answer} \] </answer>`;

/** The prompts of the published code by the tools that they explain, in our words. xbench is asked in Chinese. */
export const promptKinds = ["code-search", "search", "math", "base", "code-search-zh"] as const;
export type PromptKind = (typeof promptKinds)[number];

const thinking = "You solve the given question step by step.";
const ending = String.raw`Finish with the final text inside <answer> </answer>, with the exact answer in \boxed{}.`;
const final = String.raw`<think> what follows </think> <answer> The final answer is \[ \boxed{answer} \] </answer>`;

export const systemPrompts: Readonly<Record<PromptKind, string>> = {
  "code-search": systemPrompt,
  search: `${thinking} A Wikipedia search tool helps you.
Think first, inside <think> </think>. Whenever you need a fact, write a query inside <search> </search>. You then read the tool's answer inside <result> </result>, and go on thinking. ${ending}
For example: <think> what to look for </think> <search> query </search> <result> what was found </result> ${final}`,
  math: `${thinking} A Python interpreter helps you.
Think first, inside <think> </think>. Whenever you need a calculation, write code inside <python> </python> and print what you want to see. You then read its output inside <result> </result>, and go on thinking. ${ending}
For example: <think> what to calculate </think> <python> code </python> <result> what it printed </result> ${final}`,
  base: `${thinking}
Think first, inside <think> </think>. ${ending}
For example: ${final}`,
  "code-search-zh": String.raw`请一步一步地回答给定的问题。你可以使用维基百科搜索工具和 Python 解释器。
先在 <think> </think> 中思考。需要查找事实时，把查询写在 <search> </search> 中；需要计算时，把代码写在 <python> </python> 中，并打印想看的内容。工具的回答会出现在 <result> </result> 中，然后继续思考。最后把答复写在 <answer> </answer> 中，并把准确答案放在 \boxed{} 中。
例如：<think> 要找什么 </think> <search> 查询 </search> <result> 找到的内容 </result> <think> 要算什么 </think> <python> 代码 </python> <result> 打印的内容 </result> <think> 结论 </think> <answer> 最终答案是 \[ \boxed{答案} \] </answer>`,
};
