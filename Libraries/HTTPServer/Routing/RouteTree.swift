/// A route of the router.
struct Route: Sendable {
    let template: String
    let bodyLimit: Int?
    var handler: HTTPHandler
    var metrics: RouteMetrics?
    let names: [String]

    init(template: String, bodyLimit: Int?, handler: @escaping HTTPHandler) {
        self.template = template
        self.bodyLimit = bodyLimit
        self.handler = handler
        names = RouteTree.parts(of: template).compactMap { part in
            part.first == ":" || part.first == "*" ? String(part.dropFirst()) : nil
        }
    }
}

/// Routes by the parts of their paths. Nodes are values in one array, so that a built tree is Sendable.
struct RouteTree: Sendable {
    /// The result of a lookup.
    enum Match {
        case found(Route, PathParameters)
        /// The path exists for other methods; with the route and parameters of one of them.
        case otherMethod(allowed: [HTTPMethod], Route, PathParameters)
        case notFound
        /// A part of the path can't be decoded.
        case malformed
    }

    private struct Node: Sendable {
        /// There are few at each node, so they are searched linearly.
        var literals: [(part: String, node: Int)] = []
        var parameter: Int?
        var rest: Int?
        var routes: [HTTPMethod: Route] = [:]
    }

    private var nodes = [Node()]

    var templates: [String] {
        nodes.flatMap { $0.routes.map { "\($0.key.rawValue) \($0.value.template)" } }.sorted()
    }

    /// Replaces every route, before the tree is used.
    mutating func update(_ change: (HTTPMethod, Route) -> Route) {
        for index in nodes.indices {
            for (method, route) in nodes[index].routes { nodes[index].routes[method] = change(method, route) }
        }
    }

    /// Splits by bytes, because a combining character after a slash would form one character with it.
    static func parts(of path: String) -> [Substring] {
        path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map {
            Substring($0)
        }
    }

    mutating func add(_ method: HTTPMethod, _ route: Route) {
        var node = 0
        let parts = Self.parts(of: route.template)
        for (index, part) in parts.enumerated() {
            switch part.first {
            case ":": node = child(of: node, \.parameter)
            case "*":
                precondition(index == parts.count - 1, "* must be the last part: \(route.template)")
                node = child(of: node, \.rest)
            default:
                if let next = nodes[node].literals.first(where: { $0.part == part }) {
                    node = next.node
                } else {
                    nodes.append(Node())
                    nodes[node].literals.append((String(part), nodes.count - 1))
                    node = nodes.count - 1
                }
            }
        }
        let isNew = nodes[node].routes.updateValue(route, forKey: method) == nil
        precondition(isNew, "two routes for \(method.rawValue) \(route.template)")
    }

    private mutating func child(of node: Int, _ edge: WritableKeyPath<Node, Int?>) -> Int {
        if let next = nodes[node][keyPath: edge] { return next }
        nodes.append(Node())
        nodes[node][keyPath: edge] = nodes.count - 1
        return nodes.count - 1
    }

    /// - Parameter path: as received, beginning with a slash.
    func match(_ method: HTTPMethod, _ path: String) -> Match {
        var parts = Self.parts(of: path)
        for index in parts.indices where parts[index].utf8.contains(UInt8(ascii: "%")) {
            guard let decoded = PercentDecoding.decode(parts[index]) else { return .malformed }
            parts[index] = Substring(decoded)
        }
        var values: [Substring] = []
        var other: (node: Int, values: [Substring])?
        if let route = find(method, parts[...], 0, &values, &other) { return .found(route, parameters(route, values)) }
        guard let other, let route = nodes[other.node].routes.first?.value else { return .notFound }
        let allowed = nodes[other.node].routes.keys
        return .otherMethod(allowed: Array(allowed), route, parameters(route, other.values))
    }

    private func parameters(_ route: Route, _ values: [Substring]) -> PathParameters {
        PathParameters(zip(route.names, values).map { ($0, String($1)) })
    }

    /// Searches depth first: literals, then a parameter, then the rest.
    private func find(
        _ method: HTTPMethod, _ parts: ArraySlice<Substring>, _ index: Int, _ values: inout [Substring],
        _ other: inout (node: Int, values: [Substring])?
    ) -> Route? {
        let node = nodes[index]
        guard let part = parts.first else { return leaf(method, index, values, &other) }
        if let next = node.literals.first(where: { $0.part == part })?.node,
            let route = find(method, parts.dropFirst(), next, &values, &other)
        {
            return route
        }
        if let next = node.parameter, !part.isEmpty {
            values.append(part)
            if let route = find(method, parts.dropFirst(), next, &values, &other) { return route }
            values.removeLast()
        }
        guard let next = node.rest else { return nil }
        values.append(Substring(parts.joined(separator: "/")))
        if let route = leaf(method, next, values, &other) { return route }
        values.removeLast()
        return nil
    }

    private func leaf(
        _ method: HTTPMethod, _ index: Int, _ values: [Substring], _ other: inout (node: Int, values: [Substring])?
    ) -> Route? {
        let routes = nodes[index].routes
        if let route = routes[method] ?? (method == .head ? routes[.get] : nil) { return route }
        if !routes.isEmpty, other == nil { other = (index, values) }
        return nil
    }
}
