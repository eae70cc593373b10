/// The JavaScript that every context starts with. It is a function of the host's function, defines the globals of App Services'
/// functions, and returns what the host calls: `run`, `answer`, `fire`, `unhandled` and `check`.
///
/// Each request has a context of its own, so what is there from the beginning is little. The rest is a closure that is run when something
/// of it is first used, and most of its files are the bodies of such closures again.
enum Prelude {
    /// Its source name in stacks, which no function of an app has.
    static let name = "(partita)"

    static let source: String = {
        let rest = [
            PackageResources.parts_js, PackageResources.types_js, PackageResources.numbers_js,
            PackageResources.ejson_js, PackageResources.contents_js,
        ]
        let parts = [
            ("octets", PackageResources.bytes_js), ("objectIds", PackageResources.objectid_js),
            ("bson", PackageResources.bson_js),
            ("requests", PackageResources.http_js), ("bulk", PackageResources.bulk_js),
            ("responses", PackageResources.response_js), ("effects", PackageResources.effects_js),
            ("crypto", PackageResources.utils_js), ("inside", PackageResources.inside_js),
            ("modules", PackageResources.modules_js), ("web", PackageResources.web_js),
            ("output", PackageResources.output_js), ("timers", PackageResources.timing_js),
        ]
        let end = [PackageResources.globals_js, PackageResources.ending_js]
        let texts =
            [text(PackageResources.core_js), text(PackageResources.context_js)]
            + ["function makeParts() {"] + rest.map(text)
            + parts.map { "const \($0.0) = lazily(() => {\n\(text($0.1))\n});" } + end.map(text)
            + ["}", text(PackageResources.run_js)]
        return "(function (host) {\n\"use strict\";\n" + texts.joined(separator: "\n") + "\n})"
    }()

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
