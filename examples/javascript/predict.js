// Runs a folder that Limelight saved, in Node:
//
//   npm install --ignore-scripts onnxruntime-node
//   node predict.js path/to/model "The soup was cold but the waiter was lovely."
//   node predict.js path/to/pair-model "A man plays the guitar." "A man makes music."
//
// Prints one line of JSON: label, probabilities, and for every text its words with the share of attention
// each got. Give `--int8` first for model.int8.onnx, which is complete in one file; model.onnx needs
// model.safetensors beside it.

const fs = require("fs");
const path = require("path");
const ort = require("onnxruntime-node");

// Plain words and single marks. Limelight's own rules (in tokenizer.json, for the `tokenizers`
// library) know more: abbreviations, clitics, addresses. Where that matters, send ids instead of text.
const WORD = /[\p{L}\p{M}\p{N}]+|[^\s]/gu;
const UNKNOWN = 1;

function load(folder) {
  const read = (name) => JSON.parse(fs.readFileSync(path.join(folder, name), "utf8"));
  const [config, tokenizer] = [read("config.json"), read("tokenizer.json")];
  const lowercase = tokenizer.normalizer !== null && tokenizer.normalizer.type === "Lowercase";
  return { labels: config.labels, pair: config.kind === "pair", vocabulary: tokenizer.model.vocab, lowercase };
}

function split(text) {
  return text.match(WORD) || [""]; // a text without words is one unknown word
}

function number(words, model) {
  const own = (word) => Object.hasOwn(model.vocabulary, word);
  return words
    .map((word) => (model.lowercase ? word.toLowerCase() : word))
    .map((word) => (own(word) ? model.vocabulary[word] : UNKNOWN));
}

// ids (texts, n), padded with 0, and how long each text is; for a pair model also which texts meet
function feeds(ids, pair) {
  const n = Math.max(...ids.map((row) => row.length));
  const padded = Int32Array.from(ids.flatMap((row) => [...row, ...Array(n - row.length).fill(0)]));
  const lengths = Int32Array.from(ids, (row) => row.length);
  const given = {
    ids: new ort.Tensor("int32", padded, [ids.length, n]),
    lengths: new ort.Tensor("int32", lengths, [ids.length]),
  };
  if (pair) given.pairs = new ort.Tensor("int32", Int32Array.from([0, 1]), [1, 2]);
  return given;
}

// A (texts, r, n): the rows added up, so that the shares of a text's words sum to 1
function shares(A, text, length) {
  const [, r, n] = A.dims;
  const at = (row, t) => A.data[(text * r + row) * n + t];
  const rows = [...Array(r).keys()];
  return [...Array(length).keys()].map((t) => rows.reduce((sum, row) => sum + at(row, t), 0) / r);
}

async function predict(folder, file, texts) {
  const model = load(folder);
  if (texts.length !== (model.pair ? 2 : 1)) {
    throw new Error(`this model reads ${model.pair ? "two texts" : "one text"}; got ${texts.length}`);
  }
  const words = texts.map(split);
  const ids = words.map((own) => number(own, model));
  const session = await ort.InferenceSession.create(path.join(folder, file));
  const { probabilities, A } = await session.run(feeds(ids, model.pair));
  const P = Array.from(probabilities.data);
  return {
    label: model.labels[P.indexOf(Math.max(...P))],
    probabilities: P,
    texts: words.map((own, k) => ({ words: own, attention: shares(A, k, own.length) })),
  };
}

async function main() {
  const given = process.argv.slice(2);
  const int8 = given[0] === "--int8";
  const [folder, ...texts] = int8 ? given.slice(1) : given;
  if (!folder || !texts.length) throw new Error("give a model folder and a text");
  console.log(JSON.stringify(await predict(folder, int8 ? "model.int8.onnx" : "model.onnx", texts)));
}

main().catch((error) => {
  console.error(`error: ${error.message}`);
  process.exit(2);
});
