"""Values of text similarities by published packages: pip install rapidfuzz rouge-score nltk; python make.py > similarity.json"""
import json
from rapidfuzz import fuzz
from rouge_score import rouge_scorer
from nltk.translate.bleu_score import sentence_bleu
from nltk.translate.gleu_score import sentence_gleu
pairs=[("The cat sat on the mat.","A cat is on the mat!"),("Paris","Paris"),("","abc"),("Demo is on Friday at 14:30","the demo: Friday, 14:30 o'clock"),("naïve café 😀","naive cafe"),("a b a b a b","a b"),("a b c d e","a b c d e"),("the quick brown fox jumps over","the quick brown fox jumped over it")]
out=[]
for a,b in pairs:
    r=rouge_scorer.RougeScorer(["rouge1","rouge2","rouge3","rouge4","rouge5","rougeL"]).score(b,a)
    g=sentence_gleu([b.split()],a.split()) if a.split() or b.split() else 0
    out.append({"input":a,"reference":b,"fuzzy_match":fuzz.ratio(a,b)/100,"gleu":g,"bleu":sentence_bleu([b.split()],a.split()) if a.split() else 0,**{f"rouge_{n}":r[f"rouge{n}"].fmeasure for n in range(1,6)},"rouge_l":r["rougeL"].fmeasure})
import rapidfuzz, nltk
print(json.dumps({"made":f"rapidfuzz {rapidfuzz.__version__}, rouge-score 0.1.2, nltk {nltk.__version__}","rows":out},indent=1))
