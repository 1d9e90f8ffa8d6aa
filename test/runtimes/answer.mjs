/** What transformers.js makes of conversations, in ids, and what it says behind prompts, greedily. In Node and in a browser. */
export async function answer({ AutoModelForCausalLM, AutoTokenizer, Tensor }, folder, { openings, prompts, maxTokens }) {
  const tokenizer = await AutoTokenizer.from_pretrained(folder);
  const model = await AutoModelForCausalLM.from_pretrained(folder);
  const rows = ({ input_ids }) => input_ids.tolist()[0].map(Number);
  const open = ({ messages }) =>
    rows(tokenizer.apply_chat_template(messages, { add_generation_prompt: true, return_dict: true }));
  const texts = [];
  for (const prompt of prompts) {
    const shape = [1, prompt.length];
    const input_ids = new Tensor("int64", BigInt64Array.from(prompt, BigInt), shape);
    const attention_mask = new Tensor("int64", new BigInt64Array(prompt.length).fill(1n), shape);
    const [row] = (await model.generate({ input_ids, attention_mask, do_sample: false, max_new_tokens: maxTokens })).tolist();
    texts.push(tokenizer.decode(row.slice(prompt.length), { skip_special_tokens: false }));
  }
  return { openings: openings.map(open), texts };
}
