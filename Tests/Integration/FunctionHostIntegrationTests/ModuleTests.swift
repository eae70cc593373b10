import DocumentModel
import FunctionProtocol
import Testing

/// `require` and `import` of packages, as Node resolves them.
struct ModuleTests {
    private func run(_ source: String, _ modules: [String: String]) throws -> Value {
        try TestHost(["f": source], modules: modules).call("f").get()
    }

    @Test(arguments: [
        // main, index.js, without a suffix, a folder as main
        (["a/package.json": #"{"main":"lib/main.js"}"#, "a/lib/main.js": "module.exports = 1"], "a"),
        (["a/index.js": "exports.value = 1; module.exports = exports.value"], "a"),
        (["a/package.json": #"{"main":"lib"}"#, "a/lib/index.js": "module.exports = 1"], "a"),
        (["a/package.json": "{}", "a/sub/thing.js": "module.exports = 1"], "a/sub/thing"),
        (["@b/c/index.js": "module.exports = 1"], "@b/c"),
        (["@b/c/d.cjs": "module.exports = 1"], "@b/c/d"),
        (["a/data.json": "1"], "a/data.json"), (["a/data.json": "1"], "a/data"),
        // exports
        (["a/package.json": #"{"exports":"./x.js"}"#, "a/x.js": "module.exports = 1"], "a"),
        (
            [
                "a/package.json":
                    #"{"exports":{".":{"browser":"./no.js","node":{"import":"./no.js","require":"./x.js"}}}}"#,
                "a/x.js": "module.exports = 1",
            ], "a"
        ),
        (
            ["a/package.json": #"{"exports":{"./s":{"default":"./x.js"}}}"#, "a/x.js": "module.exports = 1"],
            "a/s"
        ),
        (["a/package.json": #"{"exports":{"./s/*":"./l/*.js"}}"#, "a/l/x.js": "module.exports = 1"], "a/s/x"),
        (["a/package.json": #"{"exports":[{"x":"./n.js"},"./x.js"]}"#, "a/x.js": "module.exports = 1"], "a"),
        (
            [
                "a/package.json": ##"{"imports":{"#in":"./x.js"}}"##, "a/index.js": "module.exports = require('#in')",
                "a/x.js": "module.exports = 1",
            ], "a"
        ),
        // relative paths, cycles, and packages inside packages
        (
            [
                "a/index.js": "module.exports = require('./b/c').d", "a/b/c.js": "exports.d = require('../e')",
                "a/e.js": "module.exports = 1",
            ], "a"
        ),
        (
            [
                "a/index.js": "exports.early = true; module.exports = require('./b').seen",
                "a/b.js": "exports.seen = require('./index').early ? 1 : 0",
            ], "a"
        ),
        (
            [
                "a/index.js": "module.exports = require('b')", "a/node_modules/b/index.js": "module.exports = 1",
                "b/index.js": "module.exports = 2",
            ], "a"
        ),
        (
            [
                "a/index.js":
                    "#!/usr/bin/env node\nmodule.exports = typeof module === 'object' && this === exports ? 1 : 0"
            ], "a"
        ),
    ])
    func `a module is found where Node finds it`(_ modules: [String: String], _ name: String) throws {
        let result = try run("exports = () => require('\(name)')", modules)
        #expect(result.isIdentical(to: .int32(1)), "\(result)")
    }

    @Test func `a module is run once per request, and nothing of it is left for the next`() throws {
        let host = try TestHost(
            ["f": "exports = () => { require('a').n++; return [require('a').n, require('a/index.js').n] }"],
            modules: ["a/index.js": "exports.n = 0"])
        for _ in 0..<2 { #expect(try host.call("f").get().isIdentical(to: .array([.int32(1), .int32(1)]))) }
    }

    @Test func `static imports of a function become requires, with the same lines`() throws {
        let host = try TestHost(
            [
                "f": """
                import isEmpty from "a/isEmpty";
                import whole, { one,
                  two as second } from 'a';
                import * as all from "a";
                import "side";
                exports = () => [isEmpty([]), whole.one, one, second, all.two, effect, text]
                const text = `
                import { this } from "text"`.trim();
                """,
                "line": "import { one } from 'a'\nimport {\n  two\n} from 'a';\nexports = () => {\n  return null.x }",
                "unknown": "import x from 'nowhere'; exports = () => x",
            ],
            modules: [
                "a/index.js": "exports.one = 1; exports.two = 2", "side/index.js": "effect = 'done'",
                "a/isEmpty.js":
                    "Object.defineProperty(exports, '__esModule', { value: true }); exports.default = x => x.length === 0",
            ])
        let result = try host.call("f").get()
        let expected: [Value] = [.bool(true), .int32(1), .int32(1), .int32(2), .int32(2), "done"]
        #expect(
            result.arrayValue.map { Value.array(Array($0.prefix(6))) }?.isIdentical(to: .array(expected)) == true,
            "\(result)")
        #expect(#expect(throws: FunctionFailure.self) { try host.call("line").get() }?.line == 6)
        #expect(try host.check("import { one } from 'a'\nexports = () => one") == nil)
        #expect(try host.check("import { one } from 'a'\nexports = () => one +")?.line == 3)
    }

    @Test func `a package in the newer module syntax is loaded`() throws {
        let result = try run(
            """
            exports = async () => {
              const a = require("a"), b = await a.load();
              return [a.default(2), a.one, a.two, a.renamed, a.three, a.Four.name, a.all.five, b.five, a.six, a.seven, a.counter(), a.eight]
            }
            """,
            [
                "a/package.json": #"{"type":"module","exports":{"import":"./index.js"}}"#,
                "a/index.js": """
                import { three, six } from "./other.js";
                import def, * as rest from './other.js'
                export default function twice(x) { return x * def }
                export const one = 1, unseen = 0;
                export let two = 2;
                export { renamed, three };
                export class Four {}
                export * as all from "./five.js";
                export * from "./seven.js";
                export { six } from './other.js';
                export async function load() { return await import('./five.js') }
                export function counter() { return rest.six }
                const renamed = "renamed";
                """,
                "a/other.js": "export default 2;\nexport const three = 3;\nconst x = 6;\nexport { x as six }",
                "a/five.js": "export const five = 5",
                "a/seven.js": "export var seven = 7;export default 0;export{seven as eight}",
            ])
        let expected: [Value] = [
            .int32(4), .int32(1), .int32(2), "renamed", .int32(3), "Four", .int32(5), .int32(5), .int32(6), .int32(7),
            .int32(6), .int32(7),
        ]
        #expect(result.isIdentical(to: .array(expected)), "\(result)")
    }

    @Test(arguments: [
        ("require('absent')", "the package 'absent' isn't in the app's export"),
        ("require('@s/absent/x')", "the package '@s/absent' isn't in the app's export"),
        ("require('a/hidden')", "doesn't export it"), ("require('b')", "/node_modules/b/index.js"),
        ("require('a')('x')", "there is no such file in its package"), ("require('')", "takes a module's name"),
    ])
    func `what can't be loaded is said by name`(_ call: String, _ message: String) throws {
        let failure = #expect(throws: FunctionFailure.self) {
            try run(
                "exports = () => \(call)",
                [
                    "a/package.json": #"{"exports":{".":"./x.js"}}"#,
                    "a/x.js": "module.exports = () => require('./absent')",
                    "a/hidden.js": "", "b/index.js": "let a = 1;\nlet a = 2;",
                ])
        }
        #expect(failure?.message.contains(message) == true, "\(failure?.message ?? "")")
    }

    @Test func `a source with an error breaks only its own function`() throws {
        let host = try TestHost(["bad": "exports = () => {\n  return (1; }", "good": "exports = () => 1"])
        #expect(try host.call("good").get().intValue == 1)
        let failure = #expect(throws: FunctionFailure.self) { try host.call("bad").get() }
        #expect(failure?.code == .functionSyntaxError)
        #expect(failure?.function == "bad")
        #expect(failure?.line == 2)
    }
}
