/// The values of a route template's parameters in a request's path, percent-decoded.
public struct PathParameters: Sendable {
    private let values: [(name: String, value: String)]

    /// Creates parameters, for tests of handlers; otherwise the router creates them.
    public init(_ values: [(String, String)] = []) { self.values = values.map { (name: $0.0, value: $0.1) } }

    /// The value of a parameter; `nil` if the template doesn't have it.
    public subscript(name: String) -> String? { values.first { $0.name == name }?.value }

    /// The value of a parameter that the template has.
    /// - Throws: ``HTTPError`` 400 if the template doesn't have it.
    public func require(_ name: String) throws(HTTPError) -> String {
        guard let value = self[name] else { throw HTTPError(400, code: "MissingParameter", "missing \(name)") }
        return value
    }
}
