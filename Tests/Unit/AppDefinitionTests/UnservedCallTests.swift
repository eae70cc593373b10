import AppDefinition
import DocumentModel
import Testing

/// Names in functions' sources that aren't served.
struct UnservedCallTests {
    private func warnings(_ source: String) -> [String] {
        var files = AppFixture.files
        files.texts["functions/greet.js"] = source + "\nexports = () => 1;\n"
        files.texts["services/push/config.json"] = #"{"name": "push", "type": "gcm", "config": {}}"#
        return AppDefinition.inspect(files).problems
            .filter { $0.file == "functions/greet.js" && $0.severity == .warning }
            .map { "\($0.line ?? 0) \($0.message)" }
    }

    /// A source, and the line and name of each warning.
    @Test(arguments: [
        ("context.services.get('mongodb-atlas').db('D').collection('C').watch([])", ["1 collection.watch "]),
        (
            """
            const db = context.services
              .get("mongodb-atlas").db("D");
            const users = db
              .collection("User");
            async function f() { const stream = await users.watch(); db.runCommand({}); users . createIndex({ a: 1 }) }
            """,
            ["5 db.runCommand ", "5 collection.watch ", "5 collection.createIndex "]
        ),
        (
            "c = context.services.get('m-a').db(n)?.collection(`${x}`)\nc?.drop()",
            ["1 the app has no service m-a", "2 collection.drop "]
        ),
        (
            "x.aggregate([{ $vectorSearch: { index: 'v' } }, { \"$indexStats\": {} }])",
            ["1 $vectorSearch ", "1 $indexStats "]
        ),
        ("x.aggregate([{ $search: { knnBeta: { path: 'p' } } }])", ["1 knnBeta "]),
        (
            "const q = {}; q['$where'] = 1; f({ '$where': 'a' }, [\"$$CLUSTER_TIME\"])",
            ["1 $where ", "1 $$CLUSTER_TIME "]
        ),
        (
            "await context.auth.login(); context.functions.excute('f')",
            ["1 context.auth ", "1 context.functions.excute "]
        ),
        (
            "context.app.hostingUri; context\n  .http.options({})",
            ["1 context.app.hostingUri ", "2 context.http.options "]
        ),
        (
            "BSON.Code('x'); EJSON.serialize({}); utils.xml.parse('')",
            ["1 BSON.Code ", "1 EJSON.serialize ", "1 utils.xml "]
        ),
        ("const r = await fetch('https://a.example')", ["1 fetch "]),
        ("const name = 'push';\ncontext.services.get(name).send({})", ["2 the service push of type gcm "]),
        ("context.services\n  .get('nobody')", ["1 the app has no service nobody"]),
        (
            "context.functions.execute('gret', 1);\ncontext.values.get(\"limt\"); context.values . get(`api-key`)",
            ["1 it calls gret, ", "2 the app has no value limt, ", "2 the app has no value api-key, "]
        ),
    ])
    func `what isn't served is named with its line`(_ source: String, _ expected: [String]) {
        let warnings = warnings(source)
        #expect(warnings.count == expected.count, "\(warnings)")
        for (warning, start) in zip(warnings, expected) { #expect(warning.hasPrefix(start), "\(warnings)") }
        #expect(warnings.allSatisfy { $0.contains(": ") })
    }

    @Test(arguments: [
        "// context.auth, users.watch(), fetch('x')\n/* { $vectorSearch: 1 } */ const a = 1 / 2; // fetch(1)",
        "fs.watch('x'); const w = { watch() {} }; w.watch()", "const c = firestore().collection('x'); c.watch()",
        "console.log(\"context.auth and { $where: 1 }\", 'fetch(1)', `{ $where: ${1} }`, /fetch(1)/)",
        "context.functions.execute('greet'); context.values.get('a' + b); context.values.get(`a${b}`); f('context.values.get(1)')",
        "const context = f(); context.values.get('x')",
        "const fetch = require('x'); fetch('y')", "async function fetch(url) {}\nfetch('y')", "x.fetch('y')",
        "function f(context) { return context.auth }", "const f = ({ context }) => context.auth", "x.context.auth()",
        "const { EJSON } = require('x'); EJSON.serialize({})", "const utils = require('x'); utils.pad('x')",
        "context.user.data.email; context.user.customData; context.values.get('limit').anything; context.request.requestHeaders.Host",
        "x.aggregate([{ $searchBeta: { queryString: {}, moreLikeThis: {}, regex: {}, term: {}, search: {} } }])",
        "x.aggregate([{ $match: { $expr: { $eq: ['$a', '$$NOW'] } } }, { $search: { text: {} } }])",
        "context.services.get('mongodb-atlas').db('D').collection('C').find({}).sort({}).toArray().map(x => x.drop())",
        "context.http.post({ url: 'x', form: {}, authUrl: 'y' })", "const name = f();\ncontext.services.get(name)",
    ])
    func `other objects, comments and texts are no uses`(_ source: String) {
        #expect(warnings(source).filter { !$0.contains("the package ") } == [])
    }

    @Test func `a name is reported once, and a source within limits`() {
        #expect(warnings("context.auth.a\ncontext.auth.b").count == 1)
        let many = (0..<30).map { "context.a\($0)" }.joined(separator: "\n")
        let warnings = warnings(many)
        #expect(warnings.count == 21 && warnings.contains { $0.contains("10 more names") }, "\(warnings)")
        let large = self.warnings("context.auth" + String(repeating: " ", count: 1 << 18))
        #expect(large.count == 1 && large.first?.contains("isn't searched") == true, "\(large)")
    }

    @Test(arguments: [
        ",[", "{(", "context,", "a.db().", "`${", "/", "'", "collection(", "(/[", "services.get('a');",
        "v=a.db();v.b();",
        "()()()()()()()()().db()", "/ ",
    ])
    func `a source of one sign over and over is read in time`(_ part: String) {
        let source = String(repeating: part, count: (1 << 18) / part.utf8.count - 100)
        let time = ContinuousClock().measure { _ = warnings(source) }
        #expect(time < .seconds(3), "\(time)")
    }
}
