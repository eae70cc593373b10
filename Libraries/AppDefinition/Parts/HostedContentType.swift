import DocumentModel

/// The media types of hosted files whose metadata have none, by their names' endings.
public enum HostedContentType {
    private static let types: [ExactText: String] = [
        "html": "text/html; charset=utf-8", "htm": "text/html; charset=utf-8", "xhtml": "application/xhtml+xml",
        "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
        "mjs": "text/javascript; charset=utf-8", "json": "application/json", "map": "application/json",
        "jsonld": "application/ld+json", "webmanifest": "application/manifest+json", "xml": "application/xml",
        "txt": "text/plain; charset=utf-8", "md": "text/markdown; charset=utf-8", "csv": "text/csv; charset=utf-8",
        "ics": "text/calendar; charset=utf-8", "vtt": "text/vtt; charset=utf-8", "svg": "image/svg+xml",
        "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp",
        "avif": "image/avif", "bmp": "image/bmp", "ico": "image/x-icon", "apng": "image/apng", "woff": "font/woff",
        "woff2": "font/woff2", "ttf": "font/ttf", "otf": "font/otf", "eot": "application/vnd.ms-fontobject",
        "wasm": "application/wasm", "pdf": "application/pdf", "zip": "application/zip", "gz": "application/gzip",
        "mp3": "audio/mpeg", "m4a": "audio/mp4", "ogg": "audio/ogg", "wav": "audio/wav", "mp4": "video/mp4",
        "webm": "video/webm", "mov": "video/quicktime",
    ]
    /// Endings of files that compress well, although their type isn't text.
    private static let compressible: Set<ExactText> = [
        "xhtml", "json", "map", "jsonld", "webmanifest", "xml", "svg", "bmp", "ico", "ttf", "otf", "eot", "wasm",
    ]

    /// The type of a file; `application/octet-stream` for an unknown ending.
    public static func of(_ path: String) -> String { types[ExactText(ending(of: path))] ?? "application/octet-stream" }

    /// Whether it is worthwhile to compress a file.
    public static func isCompressible(_ path: String) -> Bool {
        of(path).hasPrefix("text/") || compressible.contains(ending(of: path))
    }

    private static func ending(of path: String) -> String {
        let name = path.splitAtBytes("/").last ?? path
        let parts = name.splitAtBytes(".")
        return parts.count > 1 ? (parts.last ?? "").lowercased() : ""
    }
}
