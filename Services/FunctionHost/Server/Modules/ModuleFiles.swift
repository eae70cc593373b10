import DocumentModel
import Foundation

/// The sources of modules by path: those of the app's packages under `/node_modules`, and Node's own under `/node`.
final class ModuleFiles {
    /// Where Debian installs packages of JavaScript.
    private static let systemFolder = "/usr/share/nodejs"
    /// The packages of Debian that Node's own modules are made of, with those that they require.
    private static let systemPackages = [
        "base64-js", "buffer", "core-util-is", "events", "ieee754", "inherits", "isarray", "path-browserify",
        "process-nextick-args", "readable-stream", "safe-buffer", "stream-browserify", "string_decoder",
        "util-deprecate",
    ]

    private let node: [ExactText: String]
    private let nodeFolders: Set<ExactText>
    private var packages: [ExactText: String] = [:]
    private var folders: Set<ExactText> = []

    /// Reads Node's own modules. They can't be read later, when the host has no access to files.
    init() {
        var texts: [ExactText: String] = [:]
        for (name, bytes) in Self.embedded { texts["/node/\(name).js"] = String(decoding: bytes, as: UTF8.self) }
        for package in Self.systemPackages { Self.read(package, into: &texts) }
        node = texts
        nodeFolders = Self.folders(of: texts.keys)
    }

    private static let embedded: [(String, [UInt8])] = [
        ("assert", PackageResources.assert_js), ("buffer", PackageResources.buffer_js),
        ("constants", PackageResources.constants_js), ("punycode", PackageResources.punycode_js),
        ("crypto", PackageResources.crypto_js), ("os", PackageResources.os_js), ("plain", PackageResources.plain_js),
        ("process", PackageResources.process_js), ("querystring", PackageResources.querystring_js),
        ("requests", PackageResources.requests_js), ("secure", PackageResources.secure_js),
        ("timers", PackageResources.timers_js), ("tty", PackageResources.tty_js), ("url", PackageResources.url_js),
        ("util", PackageResources.util_js), ("zlib", PackageResources.zlib_js),
        ("perf_hooks", PackageResources.perf_hooks_js), ("stream", PackageResources.stream_js),
        ("stream_consumers", PackageResources.stream_consumers_js),
        ("stream_promises", PackageResources.stream_promises_js),
        ("timers_promises", PackageResources.timers_promises_js), ("util_types", PackageResources.util_types_js),
    ]

    private static func read(_ package: String, into texts: inout [ExactText: String]) {
        let folder = "\(systemFolder)/\(package)"
        // A package that isn't installed has no files; `require` says which are needed.
        for name in (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? [] {
            guard name.hasSuffix(".js") || name.hasSuffix("package.json"), !name.hasSuffix(".min.js"),
                let bytes = FileManager.default.contents(atPath: "\(folder)/\(name)")
            else { continue }
            texts["/node/\(package)/\(name)"] = String(decoding: bytes, as: UTF8.self)
        }
    }

    /// Replaces the app's packages.
    /// - Parameter modules: by path inside `node_modules`.
    func load(_ modules: [ExactText: String]) {
        packages = Dictionary(modules.map { (ExactText("/node_modules/" + $0.key.text), $0.value) }) { _, last in last }
        folders = Self.folders(of: packages.keys)
    }

    func text(_ path: String) -> String? { packages[path] ?? node[path] }

    /// Whether there is such a file or, for a path with a `/` at its end, such a folder.
    func has(_ path: String) -> Bool {
        text(path) != nil || folders.contains(path) || nodeFolders.contains(path)
    }

    private static func folders(of paths: some Sequence<ExactText>) -> Set<ExactText> {
        var folders: Set<ExactText> = []
        for path in paths {
            var rest = path.text.utf8[...]
            while let slash = rest.lastIndex(of: UInt8(ascii: "/")) {
                rest = rest[..<slash]
                // The folders above were added with this one.
                if !folders.insert(ExactText(String(decoding: rest, as: UTF8.self) + "/")).inserted { break }
            }
        }
        return folders
    }
}
