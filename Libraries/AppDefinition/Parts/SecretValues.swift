public import DocumentModel

/// The secrets of an app by name. They aren't part of its files, and their values don't appear when this is printed.
public struct SecretValues: Sendable, CustomStringConvertible, CustomReflectable {
    private let values: [ExactText: String]

    public init(_ values: [ExactText: String] = [:]) { self.values = values }

    /// The secret of this name; `nil` when it isn't set.
    public subscript(name: String) -> String? { values[name] }

    public var description: String { "\(values.count) secrets" }

    public var customMirror: Mirror { Mirror(self, children: []) }
}
