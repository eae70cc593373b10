/// The JavaScript that every context starts with. It runs in one closure, and defines the globals of App Services' functions, and
/// `__run`, `__answer`, `__fire`,
/// `__unhandled` and `__check`, which the host calls.
enum Prelude {
    /// Its source name in stacks, which no function of an app has.
    static let name = "(partita)"

    static let source: String = {
        let files = [
            PackageResources.host_js, PackageResources.bson_js, PackageResources.http_js, PackageResources.bulk_js,
            PackageResources.response_js,
            PackageResources.context_js,
            PackageResources.utils_js, PackageResources.modules_js, PackageResources.web_js,
            PackageResources.globals_js,
        ].map { String(decoding: $0, as: UTF8.self) }
        return
            "var __functions = Object.create(null), __modules = Object.create(null);\n(function () {\n\"use strict\";\n"
            + files.joined(separator: "\n") + "\n})()"
    }()
}
