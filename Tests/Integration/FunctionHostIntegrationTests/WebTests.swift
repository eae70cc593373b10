import DocumentModel
import FunctionProtocol
import Testing

/// What the web and Node have besides the language. What is expected was printed by Node 18.
struct WebTests {
    @Test(arguments: [
        (
            "const a = { d: new Date(5), m: new Map([[1, { x: 1 }]]), s: new Set(['y']), r: /q/gi, b: new Uint8Array([1, 2]), n: [1, , 3] }; a.self = a; const c = structuredClone(a); return [c !== a, c.self === c, c.d.getTime(), c.m.get(1).x, c.m !== a.m, c.s.has('y'), String(c.r), c.b[1], 1 in c.n, c.n.length]",
            "true,true,5,1,true,true,/q/gi,2,false,3"
        ),
        ("try { structuredClone({ f() {} }) } catch (error) { return error.name }", "DataCloneError"),
        ("const e = structuredClone(new TypeError('t')); return [e instanceof TypeError, e.message]", "true,t"),
        (
            "const id = BSON.ObjectId('0123456789abcdef01234567'); return String(structuredClone({ id }).id)",
            "0123456789abcdef01234567"
        ),
        (
            "const c = new AbortController(); const seen = []; c.signal.addEventListener('abort', e => seen.push(e.type)); c.signal.onabort = () => seen.push('on'); c.abort(); c.abort(); return [seen, c.signal.aborted, c.signal.reason.name]",
            "on,abort,true,AbortError"
        ),
        (
            "const s = AbortSignal.timeout(5); await new Promise(done => s.addEventListener('abort', done)); return s.reason.name",
            "TimeoutError"
        ),
        (
            "return [AbortSignal.any([AbortSignal.abort('x')]).reason, AbortSignal.abort().reason.message]",
            "x,This operation was aborted"
        ),
        (
            "try { AbortSignal.abort(new Error('mine')).throwIfAborted() } catch (error) { return error.message }",
            "mine"
        ),
        (
            "const a = performance.now(); await new Promise(done => setTimeout(done, 20)); const b = performance.now(); return a >= 0 && b - a >= 10 && b - a < 120000 && performance.timeOrigin > 1e12",
            "true"
        ),
        (
            "const t = new EventTarget(); let n = 0; t.addEventListener('x', () => n++, { once: true }); t.dispatchEvent(new Event('x')); t.dispatchEvent(new Event('x')); return n",
            "1"
        ),
        (
            "const p = require('punycode'); return [p.toASCII('münchen.de'), p.toUnicode('xn--mnchen-3ya.de'), p.encode('ليه'), p.decode('ghbgi')]",
            "xn--mnchen-3ya.de,münchen.de,ghbgi,ليه"
        ),
        ("return [require('constants').ENOENT, require('node:constants').SIGTERM]", "2,15"),
    ])
    func `what functions have of the web behaves as in Node`(_ body: String, _ expected: String) throws {
        let host = try TestHost(["f": "exports = async () => String(await (async () => { \(body) })())"])
        #expect(try host.call("f", cpuLimit: 5).get().stringValue == expected)
    }

    @Test func `an error's stack has no frame of ours, and a package's error says where it was thrown`() throws {
        let host = try TestHost(
            [
                "effect": """
                exports = async () => {
                  try { await context.services.get("mongodb-atlas").db("d").collection("c").findOne({}) }
                  catch (error) { console.log(error); return error.stack }
                }
                """,
                "inner": "exports = () => require('a').fail()",
            ], modules: ["a/index.js": "exports.fail = () => {\n  throw new Error('from inside');\n};"])
        let stack =
            try host.call("effect") { _ in
                .failure(EffectFailure(name: "MongoDBError", message: "no", code: 1))
            }.get().stringValue ?? ""
        #expect(stack.contains("effect:2") && !stack.contains("(partita)"), "\(stack)")
        #expect(host.logs.allSatisfy { !$0.contains("(partita)") }, "\(host.logs)")
        guard case .failure(let failure) = try host.call("inner") else {
            Issue.record("it succeeded")
            return
        }
        #expect(failure.message == "from inside (node_modules/a/index.js:2)", "\(failure)")
        #expect(failure.function == "inner")
        #expect(failure.stack?.contains("(partita)") == false)
    }
}
