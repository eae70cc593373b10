/// What the parameters of a route's template stand for in a request's path, percent-decoded.
public struct PathParameters: Sendable {
    private let values: [(name: String, value: String)]

    /// For tests of handlers; the router makes them otherwise.
    public init(_ values: [(String, String)] = []) { self.values = values.map { (name: $0.0, value: $0.1) } }

    /// The value; nil when the template has no such parameter.
    public subscript(name: String) -> String? { values.first { $0.name == name }?.value }

    /// The value of a parameter that the template has.
    /// - Throws: ``HTTPError`` 400 otherwise.
    public func require(_ name: String) throws(HTTPError) -> String {
        guard let value = self[name] else { throw HTTPError(400, code: "MissingParameter", "missing \(name)") }
        return value
    }
}
