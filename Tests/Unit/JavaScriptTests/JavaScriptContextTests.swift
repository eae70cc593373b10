import JavaScript
import Testing

/// Serialized, since the limits measure the whole process's memory and the thread's time.
@Suite(.serialized)
struct JavaScriptContextTests {
    private let context: JavaScriptContext

    init() throws {
        context = try JavaScriptContext(JavaScriptVirtualMachine())
    }

    @Test func `strings cross in both directions with any character`() throws {
        let texts = ["", "plain", "emoji 🎻", "nul \u{0} inside", "line\u{2028}separator"]
        for text in texts {
            let got = Box()
            context.define("take") {
                got.texts = $0; return $0.first
            }
            try context.evaluate("function echo(text) { take(text, take(text)) }", name: "echo.js")
            try context.call("echo", [text])
            #expect(got.texts == [text, text])
        }
    }

    @Test func `an exception has its message, source and line`() throws {
        let error = #expect(throws: JavaScriptError.self) {
            try context.evaluate("let a = 1\n\nnope()", name: "broken.js")
        }
        #expect(error?.code == .exception)
        #expect(error?.message.contains("nope") == true)
        #expect(error?.source == "broken.js")
        #expect(error?.line == 3)
    }

    @Test func `the source of a function is refused with its line when it isn't JavaScript`() throws {
        let error = #expect(throws: JavaScriptError.self) {
            try JavaScriptSource(
                functionBody: "exports = function() {\n  return 1 +;\n}", parameters: "exports", name: "bad",
                for: JavaScriptVirtualMachine())
        }
        #expect(error?.code == .syntax)
        #expect(error?.line == 2)
    }

    @Test func `a context has the functions that its first script returns, and the host's only there`() throws {
        let machine = JavaScriptVirtualMachine()
        let prelude = try JavaScriptSource(
            "(function (host) { return { run: name => host('take', host('function')(name)), fail: () => host('function')() }; })",
            name: "prelude.js", for: machine)
        let function = try JavaScriptSource(
            functionBody: "if (!name)\n  nope();\nreturn name + typeof run + typeof host", parameters: "name",
            name: "f",
            for: machine)
        for _ in 0..<2 {
            let got = Box()
            let context = try JavaScriptContext(machine)
            try context.begin(with: prelude) { words in
                if words == ["function"] { return .value(of: function) }
                got.texts = words
                return .undefined
            }
            try context.call("run", ["it"])
            #expect(got.texts == ["take", "itundefinedundefined"])
            let error = #expect(throws: JavaScriptError.self) { try context.call("fail", []) }
            #expect(error?.source == "f")
            #expect(error?.line == 2)
        }
        let nothing = try JavaScriptSource("(function () {})", name: "nothing.js", for: machine)
        #expect(throws: JavaScriptError.self) {
            try JavaScriptContext(machine).begin(with: nothing) { _ in .undefined }
        }
    }

    @Test func `the memory of contexts that reported rejections is given back`() throws {
        let machine = JavaScriptVirtualMachine()
        func use(_ count: Int) throws {
            for _ in 0..<count {
                let context = try JavaScriptContext(machine)
                try context.evaluate(
                    "const kept = Array.from({ length: 20000 }, (_, index) => index + 0.5); function unhandled() { return kept; }",
                    name: "w.js")
                try context.reportUnhandledRejections(to: "unhandled")
            }
        }
        try use(200)
        let before = JavaScriptVirtualMachine.residentBytes
        try use(1500)
        #expect(JavaScriptVirtualMachine.residentBytes - before < 120 << 20)
    }

    @Test func `microtasks run before the call returns`() throws {
        let got = Box()
        context.define("take") {
            got.texts += $0; return nil
        }
        try context.evaluate(
            "async function work() { take('a'); await null; take('b'); await Promise.all([1, 2]); take('c') }",
            name: "w.js")
        try context.call("work", [])
        #expect(got.texts == ["a", "b", "c"])
    }

    @Test(arguments: [
        "for (;;) {}", "try { for (;;) {} } catch { for (;;) {} } finally { for (;;) {} }",
        "for (;;) JSON.stringify('y'.repeat(1e6))", "const f = n => f(n) ; for (;;) { try { f(1) } catch {} }",
    ])
    func `a script that never ends is ended at its CPU limit`(_ source: String) throws {
        context.cpuLimit = 0.1
        let error = #expect(throws: JavaScriptError.self) { try context.evaluate(source, name: "loop.js") }
        #expect(error?.code == .cpuLimit)
        #expect(context.cpuTime < 2)
    }

    @Test func `CPU time adds up over the continuations of a call`() throws {
        context.cpuLimit = 0.2
        try context.evaluate(
            "function spin() { const end = Date.now() + 60; while (Date.now() < end) {} }", name: "spin.js")
        let error = #expect(throws: JavaScriptError.self) { for _ in 0..<50 { try context.call("spin", []) } }
        #expect(error?.code == .cpuLimit)
    }

    @Test func `a script that allocates without end is ended at the limit`() throws {
        let machine = JavaScriptVirtualMachine(memoryLimit: 600 << 20)
        let context = try JavaScriptContext(machine)
        context.cpuLimit = 20
        let error = #expect(throws: JavaScriptError.self) {
            try context.evaluate("const a = []; for (;;) a.push({ a: [1, 2, 3] })", name: "bomb.js")
        }
        #expect(error?.code == .memoryLimit)
        #expect(machine.isUsedUp)
    }

    @Test(arguments: [
        "for (;;) {}",
        "Promise.resolve().then(() => { for (;;) {} }); Promise.resolve().then(() => { globalThis.leaked = 1 })",
        "[3, 1, 2].sort(() => { for (;;) {} })",
    ])
    func `when a limit ends a script, those of other contexts go on`(_ source: String) throws {
        let machine = JavaScriptVirtualMachine()
        for _ in 0..<20 {
            let got = Box()
            let (waiting, endless) = (try JavaScriptContext(machine), try JavaScriptContext(machine))
            waiting.define("take") {
                got.texts += $0; return nil
            }
            try waiting.evaluate(
                "var go; (async () => { await new Promise(r => { go = r }); take('a'); await null; take('b') })()",
                name: "w.js")
            endless.cpuLimit = 0.02
            let error = #expect(throws: JavaScriptError.self) { try endless.evaluate(source, name: "loop.js") }
            #expect(error?.code == .cpuLimit)
            try waiting.call("go", [])
            #expect(got.texts == ["a", "b"])
            // Nothing of the ended script is left.
            try waiting.evaluate("0", name: "later.js")
            endless.cpuLimit = .infinity
            try endless.evaluate("if (globalThis.leaked) throw new Error('leaked')", name: "after.js")
            #expect(waiting.cpuTime < 0.02)
        }
    }

    @Test func `a limit that is raised in the middle of a step holds from then on`() throws {
        context.cpuLimit = 0.05
        context.define("raise") { [context] _ in
            context.cpuLimit = 0.3
            return nil
        }
        let error = #expect(throws: JavaScriptError.self) {
            try context.evaluate("raise(); for (;;) {}", name: "raised.js")
        }
        #expect(error?.code == .cpuLimit)
        #expect(context.cpuTime > 0.25 && context.cpuTime < 2)
    }

    @Test func `a parsed script runs in any context of its machine, and a wrong one has its line`() throws {
        let machine = JavaScriptVirtualMachine()
        let source = try JavaScriptSource(
            "var n = (globalThis.n ?? 0) + 1;\nif (n > 1) nope();", name: "s.js", for: machine)
        for _ in 0..<3 { try JavaScriptContext(machine).evaluate(source) }
        let twice = try JavaScriptContext(machine)
        try twice.evaluate(source)
        let failed = #expect(throws: JavaScriptError.self) { try twice.evaluate(source) }
        #expect(failed?.source == "s.js")
        #expect(failed?.line == 2)
        let wrong = #expect(throws: JavaScriptError.self) {
            _ = try JavaScriptSource("let a;\nlet 1", name: "wrong.js", for: machine)
        }
        #expect(wrong?.code == .syntax)
        #expect(wrong?.line == 2)
    }

    private final class Box { var texts: [String] = [] }
}
