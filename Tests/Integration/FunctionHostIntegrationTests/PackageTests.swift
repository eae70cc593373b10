import DocumentModel
import Foundation
import FunctionProtocol
import Testing

/// Packages of npm as Debian has them.
struct PackageTests {
    private static func modules(_ packages: [String]) throws -> [String: String] {
        var modules: [String: String] = [:]
        for package in packages {
            let folder = "/usr/share/nodejs/\(package)"
            for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
                let path = "\(folder)/\(name)"
                guard [".js", ".cjs", ".json"].contains(where: { name.hasSuffix($0) }), !name.contains(".min."),
                    let bytes = FileManager.default.contents(atPath: path)
                else { continue }
                modules["\(package)/\(name)"] = String(decoding: bytes, as: UTF8.self)
            }
            try #require(modules["\(package)/package.json"] != nil, "node-\(package) isn't installed")
        }
        return modules
    }

    @Test func `axios, with what it requires`() throws {
        let host = try TestHost(
            [
                "f": """
                const axios = require("axios");
                exports = async () => {
                  const { data, status } = await axios.get("https://api.example/items", { params: { a: "b c" }, headers: { "X-Key": "k" } });
                  const posted = await axios.post("https://api.example/items", { n: 1 }, { timeout: 5000 });
                  let failed;
                  try { await axios({ url: "https://api.example/missing" }) } catch (error) { failed = error.response.status + error.message }
                  return [data, status, posted.data.echo, failed];
                }
                """
            ],
            modules: try Self.modules([
                "axios", "asynckit", "combined-stream", "debug", "delayed-stream", "follow-redirects", "form-data",
                "mime-db", "mime-types", "ms", "proxy-from-env",
            ]))
        let result = try host.call("f", cpuLimit: 10) { effect in
            let url = effect.arguments["url"]?.stringValue ?? ""
            var body = Array(#"{"items":[1]}"#.utf8)
            if case .binary(let sent)? = effect.arguments["body"], !sent.bytes.isEmpty {
                body = Array("{\"echo\":".utf8) + sent.bytes + Array("}".utf8)
            }
            return .success([
                "statusCode": .int32(url.hasSuffix("missing") ? 404 : 200),
                "headers": ["content-type": .array(["application/json"])],
                "body": .binary(Binary(body, subtype: 0)),
            ])
        }.get()
        let expected = try ExtendedJSON.parse(
            #"[{"items":[1]},200,{"n":1},"404Request failed with status code 404"]"#)
        #expect(result.isIdentical(to: expected), "\(result) \(host.logs)")
        #expect(host.effects.map { $0.arguments["url"]?.stringValue }.first == "https://api.example/items?a=b+c")
        #expect(host.effects.map(\.action) == ["get", "post", "get"])
    }

    @Test func `moment, lodash and uuid`() throws {
        let host = try TestHost(
            [
                "f": """
                const moment = require("moment"), _ = require("lodash"), isEmpty = require("lodash/isEmpty"), { v4, v5, validate } = require("uuid");
                exports = () => [
                  moment.utc("2020-02-29").add(1, "year").format("YYYY-MM-DD dddd"), _.chunk([1, 2, 3], 2), isEmpty({}), validate(v4()),
                  v5("name", v5.DNS), _.isEqual({ a: [1] }, { a: [1] }), moment.duration(90, "minutes").humanize(), _.VERSION.length > 0
                ]
                """
            ], modules: try Self.modules(["moment", "lodash", "uuid"]))
        let result = try host.call("f", cpuLimit: 10).get()
        let expected = try ExtendedJSON.parse(
            #"["2021-02-28 Sunday",[[1,2],[3]],true,true,"9b8edca0-90f2-5031-8e5d-3f708834696c",true,"2 hours",true]"#)
        #expect(result.isIdentical(to: expected), "\(result)")
    }

    @Test func `lodash compares documents that were read by their values, and copies them`() throws {
        let host = try TestHost(
            [
                "equal": """
                const _ = require("lodash");
                exports = d => {
                  const same = { int: 3, long: 5, double: 3, list: [1, 2], inner: { long: 7 } };
                  return [_.isEqual(d, same), _.isEqual({ ...d }, same), _.isEqual(d, { ...same, long: 6 }), _.isMatch(d, { inner: { long: 7 } }),
                    Object.getOwnPropertySymbols(d).length, Object.getOwnPropertySymbols({ [Symbol.iterator]: 1 }).length];
                }
                """,
                "copy": "exports = d => require('lodash').cloneDeep(d)",
                "changed": """
                exports = d => [require("lodash").cloneDeep(d), { ...d }].map(copy => { copy.long++; return copy; });
                """,
            ], modules: try Self.modules(["lodash"]))
        let document: Value = [
            "int": .int32(3), "long": .int64(5), "double": .double(3), "list": .array([.int32(1), .int64(2)]),
            "inner": ["long": .int64(7)],
        ]
        #expect(
            try host.call("equal", [document], cpuLimit: 10).get()
                == .array([true, true, false, true, .int32(0), .int32(1)]))
        let copy = try host.call("copy", [document], cpuLimit: 10).get()
        #expect(copy.isIdentical(to: document), "\(copy)")
        let changed = try host.call("changed", [document], cpuLimit: 10).get().arrayValue ?? []
        #expect(changed.map { $0["long"]?.isIdentical(to: .int32(6)) } == [true, false], "\(changed)")
        #expect(changed.map { $0["long"]?.isIdentical(to: .int64(6)) } == [false, true], "\(changed)")
    }

    @Test func `crypto-js`() throws {
        let path = "/usr/share/javascript/cryptojs/rollups/aes.js"
        let text = String(decoding: try #require(FileManager.default.contents(atPath: path)), as: UTF8.self)
        let host = try TestHost(
            [
                "f":
                    "exports = () => { const C = require('crypto-js'); return C.AES.decrypt(C.AES.encrypt('secret', 'key').toString(), 'key').toString(C.enc.Utf8) + C.MD5('a') }"
            ], modules: ["crypto-js/index.js": text + "\nmodule.exports = CryptoJS"])
        #expect(try host.call("f", cpuLimit: 5).get().stringValue == "secret0cc175b9c0f1b6a831c399e269772661")
    }
}
