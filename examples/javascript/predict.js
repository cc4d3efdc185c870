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
const { Tokenizer } = require("./words.js");

async function open(folder, file = "model.onnx") {
  const read = (name) => JSON.parse(fs.readFileSync(path.join(folder, name), "utf8"));
  const config = read("config.json");
  const { task, max_length } = config.recipe.text;
  return {
    task,
    labels: config.labels,
    thresholds: config.thresholds,
    pair: config.kind === "pair",
    tokenizer: new Tokenizer(read("tokenizer.json"), max_length),
    session: await ort.InferenceSession.create(path.join(folder, file)),
  };
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

// The label; the list of those that are given, if there may be several; or the number
function decide({ task, labels, thresholds }, outputs) {
  if (task === "regression") return outputs[0];
  if (task === "multi-label") return labels.filter((_, k) => outputs[k] >= (thresholds?.[k] ?? 0.5));
  if (task !== "ordinal") return labels[outputs.indexOf(Math.max(...outputs))];
  let sum = 0;
  return labels.find((_, k) => (sum += outputs[k]) >= 0.5) ?? labels.at(-1);
}

async function predict(model, texts) {
  if (texts.length !== (model.pair ? 2 : 1)) {
    throw new Error(`this model reads ${model.pair ? "two texts" : "one text"}; got ${texts.length}`);
  }
  const words = texts.map((text) => model.tokenizer.encode(text));
  const ids = words.map((own) => own.map(({ id }) => id));
  const found = await model.session.run(feeds(ids, model.pair));
  const outputs = Array.from((found.probabilities ?? found.values).data);
  return {
    label: decide(model, outputs),
    ...(model.task === "regression" ? {} : { probabilities: outputs }),
    texts: words.map((own, k) => ({
      words: own.map(({ word }) => word),
      attention: shares(found.A, k, own.length),
    })),
  };
}

async function main() {
  const given = process.argv.slice(2);
  const int8 = given[0] === "--int8";
  const [folder, ...texts] = int8 ? given.slice(1) : given;
  if (!folder || !texts.length) throw new Error("give a model folder and a text");
  const model = await open(folder, int8 ? "model.int8.onnx" : "model.onnx");
  console.log(JSON.stringify(await predict(model, texts)));
}

module.exports = { open, predict };

if (require.main === module) {
  main().catch((error) => {
    console.error(`error: ${error.message}`);
    process.exit(2);
  });
}
