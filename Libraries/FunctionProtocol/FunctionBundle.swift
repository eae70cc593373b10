public import DocumentModel

/// The sources of one app's functions and of the packages that they require, which a host loads.
public struct FunctionBundle: Sendable {
    public struct Source: Sendable {
        public var name: String
        public var text: String
        public init(name: String, text: String) { self.name = name; self.text = text }
    }

    public var app: String
    /// The app definition's version; the functions are reloaded when it changes.
    public var version: Int64
    public var functions: [Source]
    /// The modules of the app's packages, by path inside `node_modules` (`lodash/index.js`).
    public var modules: [ExactText: String]

    public init(app: String, version: Int64, functions: [Source], modules: [ExactText: String] = [:]) {
        self.app = app
        self.version = version
        self.functions = functions
        self.modules = modules
    }
}
