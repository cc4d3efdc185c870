// node scripts/pack_js.mjs dist: the JavaScript package, and one with the bundled reader, as npm would publish them.
import { execFileSync } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const root = join(dirname(fileURLToPath(import.meta.url)), ".."), out = resolve(process.argv[2])
const about = JSON.parse(readFileSync(join(root, "js/package.json")))
const pack = folder => execFileSync("npm", ["pack", "--silent", "--pack-destination", out], { cwd: folder, stdio: "inherit" })

const shelf = mkdtempSync(join(tmpdir(), "limelight-"))
const files = ["config.json", "tokenizer.json", "model.safetensors", "README.md"] // what a program reads, and the card
for (const file of files) cpSync(join(root, "src/limelight/bundled/reader", file), join(shelf, file))
const { version, license } = about, description = "The English reader of Limelight, for limelight-text"
writeFileSync(join(shelf, "index.js"), 'export default new URL(".", import.meta.url).href.replace(/\\/$/, "")\n')
writeFileSync(join(shelf, "index.d.ts"), "/** The address of the folder, for `load`. */\ndeclare const folder: string\nexport default folder\n")
const exports = { ".": { types: "./index.d.ts", default: "./index.js" } }
writeFileSync(join(shelf, "package.json"), JSON.stringify({ name: "limelight-reader", version, description, license, type: "module", exports, files: [...files, "index.js", "index.d.ts"] }, null, 2))
for (const folder of [join(root, "js"), shelf]) pack(folder)
