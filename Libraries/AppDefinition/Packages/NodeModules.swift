import DocumentModel

/// Node's own modules.
public enum NodeModules {
    /// Those that functions can use.
    public static let served: Set<ExactText> = [
        "assert", "assert/strict", "buffer", "constants", "crypto", "events", "http", "https", "os", "path",
        "path/posix", "process",
        "punycode", "querystring", "stream", "string_decoder", "timers", "tty", "url", "util", "zlib",
    ]
    /// Those that can be required, since packages do so, but whose use throws.
    public static let refused: Set<ExactText> = [
        "async_hooks", "child_process", "cluster", "dgram", "diagnostics_channel", "dns", "domain", "fs", "fs/promises",
        "http2", "inspector", "module", "net", "perf_hooks", "readline", "repl", "tls", "v8", "vm", "worker_threads",
    ]

    /// The name without the prefix `node:`.
    static func plainName(_ name: String) -> String {
        name.startsWithBytes(of: "node:") ? String(decoding: name.utf8.dropFirst(5), as: UTF8.self) : name
    }

    /// The package of a required name: `lodash` of `lodash/isEmpty`, `@scope/name` of `@scope/name/file`.
    static func package(of name: String) -> String {
        let parts = name.splitAtBytes("/")
        return parts.prefix(name.startsWithBytes(of: "@") ? 2 : 1).joined(separator: "/")
    }
}
