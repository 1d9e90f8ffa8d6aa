"""
Hugging Face transformers behind the chat-completions protocol, for programs such as examples/play-protocol.py. Nothing of this package is in it:
template, tokenizer, arithmetic (PyTorch, float32) and sampling are transformers' and the folder's own.

    pip install torch==2.15.0 transformers==5.23.0
    python research/recipes/transformers-endpoint.py FOLDER PORT
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

folder, port = sys.argv[1], int(sys.argv[2])
torch.set_num_threads(1)
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


class Endpoint(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        prompt = tokenizer.apply_chat_template(asked["messages"], add_generation_prompt=True, return_tensors="pt", return_dict=True)
        drawn = {"do_sample": True, "temperature": asked["temperature"], "top_p": asked["top_p"], "top_k": 0}
        torch.manual_seed(asked["seed"])
        with torch.no_grad():
            ids = model.generate(**prompt, max_new_tokens=asked["max_tokens"], **(drawn if asked["temperature"] > 0 else {"do_sample": False}))
        content = tokenizer.decode(ids[0, prompt["input_ids"].shape[1] :], skip_special_tokens=True)
        body = json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


HTTPServer(("127.0.0.1", port), Endpoint).serve_forever()  # one request at a time
