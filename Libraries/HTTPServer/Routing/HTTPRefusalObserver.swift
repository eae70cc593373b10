/// Is told of a request that no handler gets, with the error that its client gets. The request has no body.
///
/// It runs before the response is sent, except when the body is refused; then it runs beside it.
public typealias HTTPRefusalObserver = nonisolated(nonsending) @Sendable (HTTPRequest, HTTPError) async -> Void

/// The observers of a router, each with the path under which it wants to know of refusals.
struct RefusalObservers: Sendable {
    private var observers: [(parts: [String], observe: HTTPRefusalObserver)] = []

    mutating func add(_ prefix: String, _ observe: @escaping HTTPRefusalObserver) {
        observers.append((RouteTree.parts(of: prefix).map(String.init), observe))
    }

    /// Tells the observers of a request's path.
    nonisolated(nonsending) func tell(_ request: HTTPRequest, _ error: HTTPError) async {
        for observe in observers(of: request.path) { await observe(request, error) }
    }

    /// - Parameter path: as received; its other parts may be malformed.
    func observers(of path: String) -> [HTTPRefusalObserver] {
        guard !observers.isEmpty else { return [] }
        let parts = RouteTree.parts(of: path).lazy.map { PercentDecoding.decode($0) ?? String($0) }
        return observers.filter { parts.starts(with: $0.parts) }.map(\.observe)
    }
}
