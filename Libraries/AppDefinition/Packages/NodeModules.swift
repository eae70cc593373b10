import DocumentModel

/// Node's own modules.
public enum NodeModules {
    /// Those that functions can use.
    public static let served: Set<ExactText> = [
        "assert", "assert/strict", "buffer", "constants", "crypto", "events", "http", "https", "os", "path",
        "path/posix", "perf_hooks", "process", "punycode", "querystring", "stream", "stream/consumers",
        "stream/promises", "string_decoder", "sys", "timers", "timers/promises", "tty", "url", "util", "util/types",
        "zlib",
    ]
    /// Those that can be required, since packages do so, but whose use throws.
    public static let refused: Set<ExactText> = [
        "async_hooks", "child_process", "cluster", "dgram", "diagnostics_channel", "dns", "dns/promises", "domain",
        "fs", "fs/promises", "http2", "inspector", "inspector/promises", "module", "net", "path/win32", "readline",
        "readline/promises", "repl", "stream/web", "tls", "trace_events", "v8", "vm", "wasi", "worker_threads",
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
