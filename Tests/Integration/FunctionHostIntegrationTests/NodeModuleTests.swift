import AppDefinition
import DocumentModel
import FunctionProtocol
import Testing

/// Node's own modules, and packages of npm that use them. What is expected was printed by Node 18.
struct NodeModuleTests {
    @Test(arguments: [
        (
            "require('crypto').createHash('sha256').update('a').update('b').digest('hex')",
            "fb8e20fc2e4c3f248c60c39bd652f3c1347298bb977b8b4d5903b85055620603"
        ),
        (
            "require('node:crypto').createHmac('sha1', 'key').update('data').digest('base64')",
            "EEFSxb/coHvGM+69RhmfAlXJ9J0="
        ),
        (
            "require('crypto').createHash('md5').update(Buffer.from('ff00', 'hex')).digest('base64url')",
            "4Oi_r7sGiVY7L7p4nJezzA"
        ),
        (
            "require('crypto').pbkdf2Sync('p', 's', 1000, 16, 'sha512').toString('hex')",
            "e3d368e7e1f1214acb9fa2029ace9e81"
        ),
        ("Buffer.from('héllo').toString('base64') + Buffer.from('aGk_', 'base64url').toString()", "aMOpbGxvhi?"),
        ("Buffer.concat([Buffer.from([1, 2]), Buffer.alloc(2, 'a')]).readUInt32BE(0).toString(16)", "1026161"),
        ("require('util').format('%s=%d %j %o%%', 'a', 1, { b: [1] }, 'x')", "a=1 {\"b\":[1]} 'x'%"),
        (
            "require('util').inspect({ a: 1, b: 'x', c: [1, { d: { e: {} } }], f: null, g: new Map([[1, 2]]), h() {} })",
            "{\n  a: 1,\n  b: 'x',\n  c: [ 1, { d: [Object] } ],\n  f: null,\n  g: Map(1) { 1 => 2 },\n  h: [Function: h]\n}"
        ),
        ("require('path').join('/a', '..', 'b', './c.js') + require('path').extname('x.tar.gz')", "/b/c.js.gz"),
        ("require('querystring').stringify({ a: 'b c', d: ['e', 'f&'], g: 1 })", "a=b%20c&d=e&d=f%26&g=1"),
        (
            "JSON.stringify(require('querystring').parse('a=b+c&d=e&d=f%26&g'))",
            "{\"a\":\"b c\",\"d\":[\"e\",\"f&\"],\"g\":\"\"}"
        ),
        (
            "new URL('../x y?q=ä#h', 'HTTPS://u:p@Example.com:443/a/b/c').href",
            "https://u:p@example.com/a/x%20y?q=%C3%A4#h"
        ),
        (
            "const u = new URL('http://h/p'); u.searchParams.append('a b', 'c&d'); u.port = '8080'; return u.href",
            "http://h:8080/p?a+b=c%26d"
        ),
        ("new URLSearchParams([['a', '1'], ['a', '2']]).getAll('a').join()", "1,2"),
        (
            "const { host, pathname, query } = require('url').parse('https://h:1/p?a=b#c'); return [host, pathname, query].join()",
            "h:1,/p,a=b"
        ),
        ("require('url').resolve('/one/two', '../three')", "/three"),
        (
            "const E = require('events'), e = new E(), seen = []; e.once('x', v => seen.push(v)); e.emit('x', 1); e.emit('x', 2); return seen.join()",
            "1"
        ),
        ("try { require('assert').deepStrictEqual({ a: 1 }, { a: 2 }) } catch (e) { return e.code }", "ERR_ASSERTION"),
        ("require('assert').throws(() => { throw new TypeError('x') }, TypeError); return 'thrown'", "thrown"),
        (
            "const d = new (require('string_decoder').StringDecoder)('utf8'); return d.write(Buffer.from([0xc3])) + d.write(Buffer.from([0xa9]))",
            "é"
        ),
        (
            "const z = require('zlib'); return z.gunzipSync(z.gzipSync('text')).toString() + z.inflateRawSync(z.deflateRawSync(Buffer.from('more')))",
            "textmore"
        ),
        (
            "const { pipeline, Readable, Transform } = require('stream'); return new Promise((yes, no) => { let out = ''; const t = new Transform({ transform(c, _, done) { done(null, String(c).toUpperCase()) } }); t.on('data', c => { out += c }); pipeline(Readable.from ? new Readable({ read() { this.push('ab'); this.push(null) } }) : 0, t, e => e ? no(e) : yes(out)) })",
            "AB"
        ),
        (
            "const c = require('crypto'), k = Buffer.alloc(32, 1), iv = Buffer.alloc(16, 2); const e = c.createCipheriv('aes-256-cbc', k, iv); return e.update('secret', 'utf8', 'hex') + e.final('hex')",
            "ef683eaa6ca225bd3055fc89fb7ce7df"
        ),
        ("new TextDecoder().decode(new TextEncoder().encode('ü')) + atob(btoa('x'))", "üx"),
        (
            "const d = new TextDecoder(), b = new TextEncoder().encode('\\ufeffa€😀\\ufeff'), parts = Array.from(b, x => d.decode(Uint8Array.of(x), { stream: true })); return JSON.stringify([...parts.filter(x => x), d.decode(), d.decode(b)]).replaceAll('\\ufeff', 'BOM')",
            #"["a","€","😀","BOM","","a€😀BOM"]"#
        ),
        (
            "const d = new TextDecoder(), cut = Uint8Array.of(0xe2, 0x82); return d.decode(cut, { stream: true }) + d.decode(Uint8Array.of(0xac, 0x41), { stream: true }) + d.decode(cut, { stream: true }) + d.decode() + d.decode(Uint8Array.of(0x42))",
            "€A\u{FFFD}B"
        ),
        (
            "const d = new TextDecoder('utf-16le'), b = [0x3d, 0xd8, 0x00, 0xde, 0x41, 0x00]; return b.map(x => d.decode(Uint8Array.of(x), { stream: true })).join() + d.decode()",
            ",,,😀,,A"
        ),
        (
            "const d = new TextDecoder('utf-8', { fatal: true }), seen = [d.decode(Uint8Array.of(0xe2, 0x82), { stream: true })]; try { d.decode() } catch (e) { seen.push(e.code) } return seen.join()",
            ",ERR_ENCODING_INVALID_ENCODED_DATA"
        ),
        ("await require('util').promisify((a, done) => done(null, a + 1))(1)", "2"),
        (
            "const c = require('crypto'), k = Buffer.alloc(32, 1), iv = Buffer.alloc(16, 2); const e = c.createCipheriv('aes-256-cbc', k, iv); return [e.update('0123456789abcdef0', 'utf8', 'hex'), e.update('0123456789abcde', 'utf8', 'hex'), e.final('hex')].join()",
            "2e87d243c361cf658497b59d01f0aa40,784c716792467672d3f11dc46f376a26,92298669ebda4f447d6503ee0f0fc65b"
        ),
        (
            "const c = require('crypto'), e = c.createCipheriv('aes-256-cbc', Buffer.alloc(32, 1), Buffer.alloc(16, 2)); return [e.update('0123456789abcdef0', 'utf8', 'base64'), e.update('zz', 'utf8', 'base64'), e.final('base64')].join()",
            "LofSQ8Nhz2WEl7WdAfCq,,QK9HT27xcGHc6PUt3hbvJds="
        ),
        (
            "const c = require('crypto'), e = c.createCipheriv('aes-256-ctr', Buffer.alloc(32, 1), Buffer.alloc(16, 2)); return [e.update('abc', 'utf8', 'hex'), e.update('de', 'utf8', 'hex'), e.final('hex')].join()",
            "03cc71,9741,"
        ),
        (
            "const c = require('crypto'), e = c.createCipheriv('aes-256-gcm', Buffer.alloc(32, 1), Buffer.alloc(12, 2)).setAAD(Buffer.from('aad')); return [e.update('abc', 'utf8', 'hex'), e.update('de', 'utf8', 'hex'), e.final('hex'), e.getAuthTag().toString('hex')].join()",
            "66b4aa,2d2f,,e2d6db002938e1d6e2f301fcbf705275"
        ),
        (
            "const c = require('crypto'), e = c.createCipheriv('chacha20-poly1305', Buffer.alloc(32, 1), Buffer.alloc(12, 2), { authTagLength: 16 }); return [e.update('hello', 'utf8', 'hex'), e.final('hex'), e.getAuthTag().toString('hex')].join()",
            "8e799e42e2,,dd562ebe25c86689bee99b6fd7664412"
        ),
        (
            "const c = require('crypto'), e = c.createCipheriv('aes-256-ocb', Buffer.alloc(32, 1), Buffer.alloc(12, 2), { authTagLength: 12 }); return [e.update('0123456789abcdef0', 'utf8', 'hex'), e.final('hex'), e.getAuthTag().toString('hex')].join()",
            "b44b55f5ab697956fed95bf855635070,54,9921c66decd0991a36d609fe"
        ),
        (
            "const c = require('crypto'), e = c.createCipheriv('aes-128-cfb8', Buffer.alloc(16, 1), Buffer.alloc(16, 2)); return e.update('abc', 'utf8', 'hex') + e.final('hex')",
            "761774"
        ),
        (
            "const c = require('crypto'), k = Buffer.alloc(32, 1), iv = Buffer.alloc(16, 2), e = c.createCipheriv('aes-256-cbc', k, iv), d = c.createDecipheriv('aes-256-cbc', k, iv), b = Buffer.concat([e.update(Buffer.alloc(40, 65)), e.final()]); return [d.update(b.subarray(0, 16)), d.update(b.subarray(16, 20)), d.update(b.subarray(20)), d.final()].map(x => x.length).join()",
            "0,16,16,8"
        ),
        (
            "const c = require('crypto'), e = c.createCipheriv('aes-256-cbc', Buffer.alloc(32, 1), Buffer.alloc(16, 2)), sizes = []; e.on('data', d => sizes.push(d.length)); await require('stream/promises').pipeline(require('stream').Readable.from([Buffer.alloc(20), Buffer.alloc(20)]), e); return sizes.join()",
            "16,16,16"
        ),
        (
            "const e = require('crypto').createCipher('aes192', 'pw'); return e.update('some clear text', 'utf8', 'hex') + e.final('hex')",
            "374c6296d7537a5e7fe4afdc7fdc490a"
        ),
        (
            "const { mode, ivLength, keyLength, blockSize } = require('crypto').getCipherInfo('AES-192-cbc'); return [mode, ivLength, keyLength, blockSize].join()",
            "cbc,16,24,16"
        ),
        (
            "const c = require('crypto'), k = Buffer.alloc(32, 1), iv = Buffer.alloc(16, 2), seen = []; const show = f => { try { f(); seen.push('none') } catch (e) { seen.push(e.code ?? e.message) } }; const e = c.createCipheriv('aes-256-cbc', k, iv); e.final(); show(() => e.update('a')); show(() => e.final()); show(() => c.createCipheriv('nope', k, iv)); show(() => c.createCipheriv('aes-256-cbc', 'x', iv)); show(() => c.createCipheriv('aes-256-cbc', k, 'x')); for (const size of [16, 15]) { const d = c.createDecipheriv('aes-256-cbc', k, iv); d.update(Buffer.alloc(size)); show(() => d.final()) } show(() => c.createCipheriv('aes-256-gcm', k, iv).getAuthTag()); return seen.join()",
            "Trying to add data in unsupported state,ERR_CRYPTO_INVALID_STATE,ERR_CRYPTO_UNKNOWN_CIPHER,ERR_CRYPTO_INVALID_KEYLEN,ERR_CRYPTO_INVALID_IV,ERR_OSSL_BAD_DECRYPT,ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH,ERR_CRYPTO_INVALID_STATE"
        ),
        (
            "const t = require('util/types'); return [t.isDate(new Date()), t.isRegExp(/x/), t.isPromise(1), t === require('node:util').types].join()",
            "true,true,false,true"
        ),
        (
            "const t = require('timers/promises'), seen = [await t.setTimeout(1, 'a'), await t.setImmediate('b')]; for await (const x of t.setInterval(1, 'c')) { seen.push(x); if (seen.length === 4) break } const a = new AbortController(); setTimeout(() => a.abort(), 1); try { await t.setTimeout(60000, 0, { signal: a.signal }) } catch (e) { seen.push(e.name, e.code) } return seen.join()",
            "a,b,c,c,AbortError,ABORT_ERR"
        ),
        (
            "await require('util').promisify(setTimeout)(1, 'p') + await require('timers').promises.setTimeout(1, 'q')",
            "pq"
        ),
        (
            "const { pipeline, finished } = require('stream/promises'), { Transform, Readable } = require('stream'); return pipeline(['a', 'b'], async function* (all) { for await (const x of all) yield x + '!' }, new Transform({ objectMode: true, transform(c, _, done) { done(null, String(c).toUpperCase()) } }), async all => { let text = ''; for await (const x of all) text += x; return text })",
            "A!B!"
        ),
        (
            "const { Readable } = require('stream'); return await require('stream/consumers').text(Readable.from(['x', 'y'])) + typeof require('stream').promises.pipeline",
            "xyfunction"
        ),
        ("try { require('node:nothing') } catch (e) { return e.code }", "ERR_UNKNOWN_BUILTIN_MODULE"),
        ("require('os').EOL === '\\n' && process.env.HOME === undefined && global === globalThis", "true"),
    ])
    func `a module of Node gives what it gives in Node`(_ code: String, _ expected: String) throws {
        let body = code.contains("return ") ? code : "return \(code)"
        let host = try TestHost(["f": "exports = async () => String(await (async () => { \(body) })())"])
        #expect(try host.call("f").get().stringValue == expected)
    }

    @Test func `ciphers, keys and random bytes`() throws {
        let host = try TestHost([
            "f": """
            exports = () => {
              const c = require("crypto"), key = c.randomBytes(32), iv = c.randomBytes(12);
              const cipher = c.createCipheriv("aes-256-gcm", key, iv).setAAD(Buffer.from("aad"));
              const sealed = Buffer.concat([cipher.update("secret"), cipher.final()]), tag = cipher.getAuthTag();
              const open = tag => {
                const d = c.createDecipheriv("aes-256-gcm", key, iv).setAAD(Buffer.from("aad")).setAuthTag(tag);
                return d.update(sealed, null, "utf8") + d.final("utf8");
              };
              let refused;
              try { open(Buffer.alloc(16)) } catch (error) { refused = error.message }
              let wrongKey;
              try { c.createCipheriv("aes-256-cbc", "short", iv) } catch (error) { wrongKey = error.message }
              return [open(tag), refused, wrongKey, c.randomUUID().length, c.randomBytes(4).length, c.randomInt(5) < 5,
                c.timingSafeEqual(Buffer.from("a"), Buffer.from("a")), c.randomBytes(16).equals(c.randomBytes(16))];
            }
            """
        ])
        let result = try host.call("f").get()
        let expected: [Value] = [
            "secret", "Unsupported state or unable to authenticate data", "Invalid key length", .int32(36), .int32(4),
            .bool(true), .bool(true), .bool(false),
        ]
        #expect(result.isIdentical(to: .array(expected)), "\(result)")
    }

    @Test func `random bytes of a repeatable run come from a key that its parent gives`() throws {
        let host = try TestHost([
            "f":
                "exports = async () => { const c = require('crypto'); await context.http.get('http://x'); return [c.randomBytes(40).toString('hex'), c.randomUUID()] }"
        ])
        func run(_ key: UInt8) throws -> Value {
            try host.call("f", seed: 1) { effect in
                effect.service == FunctionEffect.random
                    ? .success(.binary(Binary([UInt8](repeating: key, count: 32), subtype: 0))) : .success(.null)
            }.get()
        }
        let first = try run(1)
        #expect(host.effects.map(\.service) == ["http", "random"])
        #expect(first.arrayValue?[0].stringValue?.utf8.count == 80)
        #expect(try run(1).isIdentical(to: first))
        #expect(try !run(2).isIdentical(to: first))
    }

    @Test func `https is a request by context.http`() throws {
        let host = try TestHost([
            "f": """
            exports = () => new Promise((resolve, reject) => {
              const request = require("https").request("https://a.example/p?q=1", { method: "POST", headers: { "X-A": "1" } }, response => {
                let text = "";
                response.setEncoding("utf8");
                response.on("data", part => { text += part });
                response.on("end", () => resolve([response.statusCode, response.headers["content-type"], text]));
              });
              request.on("error", reject);
              request.write("bo");
              request.end("dy");
            })
            """,
            "refused":
                "exports = () => new Promise((yes, no) => require('http').get({ host: 'h', port: 81, path: '/' }, yes).on('error', e => yes(e.code + e.message)))",
        ])
        let result = try host.call("f") { effect in
            .success([
                "statusCode": .int32(201), "headers": ["Content-Type": .array(["text/plain"])],
                "body": .binary(Binary(Array("grüß".utf8), subtype: 0)),
            ])
        }.get()
        #expect(result.isIdentical(to: .array([.int32(201), "text/plain", "grüß"])), "\(result)")
        let request = try #require(host.effects.first)
        #expect(request.action == "post")
        #expect(request.arguments["url"]?.stringValue == "https://a.example/p?q=1")
        guard case .binary(let body)? = request.arguments["body"] else { return #expect(Bool(false), "no body") }
        #expect(String(decoding: body.bytes, as: UTF8.self) == "body")
        let failure = try host.call("refused") { _ in
            .failure(EffectFailure(name: "RestrictedHost", message: "no"))
        }.get()
        #expect(failure.stringValue == "EACCESno")
        #expect(host.effects.last?.arguments["url"]?.stringValue == "http://h:81/")
    }

    @Test func `what isn't served fails at its use, and says so`() throws {
        let host = try TestHost([
            "f":
                "exports = () => { const fs = require('fs'), net = require('node:net'); try { fs.readFileSync('/x') } catch (error) { return error.message } }"
        ])
        #expect(try host.call("f").get().stringValue?.contains("fs.readFileSync is not supported") == true)
    }
}

/// The host and the reader of definitions agree on which modules of Node there are.
struct NodeModuleListTests {
    @Test func `every module that is said to be served is there, and every refused one can be required`() throws {
        let host = try TestHost([
            "f":
                "exports = names => names.map(name => typeof require(name) === 'object' || typeof require(name) === 'function')"
        ])
        for names in [NodeModules.served, NodeModules.refused] {
            let result = try host.call("f", [.array(names.sortedTexts.map { .string($0) })], cpuLimit: 5).get()
            #expect(result.arrayValue?.count == names.count)
            #expect(result.arrayValue?.allSatisfy { $0.boolValue == true } == true)
        }
    }
}
