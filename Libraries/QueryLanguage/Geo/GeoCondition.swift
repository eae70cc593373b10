import DocumentModel

/// A geospatial condition.
public struct GeoCondition: Sendable {
    /// The earth's radius in metres that MongoDB uses.
    static let earthRadius = 6_378_100.0

    enum Area: Sendable {
        case box(GeoPoint, GeoPoint)
        case polygon([GeoPoint])
        case circle(GeoPoint, radius: Double)
        /// The radius in radians.
        case cap(GeoPoint, radius: Double)
        case geometry(Geometry)
    }

    enum Kind: Sendable {
        case within(Area)
        case intersects(Geometry)
        /// Distances are in metres, radians or the coordinates' own unit, depending on the measure.
        case near(GeoPoint, Measure, minimum: Double, maximum: Double)
    }

    enum Measure: Sendable { case metres, radians, planar }

    let kind: Kind

    /// Whether the condition also orders the results by distance.
    public var isNear: Bool { if case .near = kind { true } else { false } }

    init(_ name: String, _ operand: Value, siblings: Document) throws(QueryError) {
        switch name {
        case "$geoWithin", "$within": kind = .within(try Self.area(operand))
        case "$geoIntersects":
            guard let value = operand["$geometry"], let geometry = Geometry(value) else {
                throw .badValue("unknown geo specifier or malformed geometry in $geoIntersects")
            }
            kind = .intersects(geometry)
        default: kind = try Self.near(name, operand, siblings)
        }
    }

    private static func area(_ operand: Value) throws(QueryError) -> Area {
        guard case .document(let document) = operand,
            let field = document.fields.first(where: { $0.key != "$uniqueDocs" })
        else {
            throw .badValue("$geoWithin requires a shape")
        }
        switch field.key {
        case "$box":
            guard let corners = field.value.arrayValue?.compactMap(GeoPoint.init), corners.count == 2 else {
                throw .badValue("Point must be an array or object")
            }
            return .box(corners[0], corners[1])
        case "$polygon":
            guard let corners = field.value.arrayValue?.compactMap(GeoPoint.init), corners.count >= 3 else {
                throw .badValue("Polygon must have at least 3 points")
            }
            return .polygon(corners)
        case "$center", "$centerSphere":
            guard let parts = field.value.arrayValue, parts.count == 2, let center = GeoPoint(parts[0]),
                let radius = parts[1].doubleValue, radius >= 0
            else {
                throw .badValue("\(field.key) needs a point and a radius that is not negative")
            }
            return field.key == "$center" ? .circle(center, radius: radius) : .cap(center, radius: radius)
        case "$geometry":
            guard let geometry = Geometry(field.value), !geometry.polygons.isEmpty, geometry.points.isEmpty,
                geometry.lines.isEmpty
            else {
                throw .badValue("$within not supported with provided geometry")
            }
            if field.value["crs"] != nil { throw .notSupported("a geometry with crs") }
            return .geometry(geometry)
        default: throw .badValue("unknown geo specifier: \(field.key)")
        }
    }

    private static func near(_ name: String, _ operand: Value, _ siblings: Document) throws(QueryError) -> Kind {
        let isGeoJSON = operand["$geometry"] != nil
        let measure: Measure = isGeoJSON ? .metres : name == "$nearSphere" ? .radians : .planar
        guard let center = isGeoJSON ? Geometry(operand["$geometry"] ?? .null)?.points.first : GeoPoint(operand) else {
            throw .badValue("invalid point in geo near query $geometry argument")
        }
        func distance(_ key: String) throws(QueryError) -> Double? {
            guard let value = isGeoJSON ? operand[key] : siblings[key] else { return nil }
            guard let number = value.doubleValue, number >= 0 else { throw .badValue("\(key) must be non-negative") }
            return number
        }
        return .near(
            center, measure, minimum: try distance("$minDistance") ?? 0,
            maximum: try distance("$maxDistance") ?? .infinity)
    }

    func matches(_ value: Value?) -> Bool {
        guard let value else { return false }
        if let shape = Geometry(value), matches(shape) { return true }
        // A legacy array of pairs matches if any of them does.
        guard case .array(let elements) = value, elements.first?.isNumber != true else { return false }
        return elements.contains { Geometry($0).map(matches) ?? false }
    }

    private func matches(_ shape: Geometry) -> Bool {
        switch kind {
        case .intersects(let geometry): return SphereShapes.intersect(shape, geometry)
        case .near(_, _, let minimum, let maximum):
            guard let distance = distance(to: shape) else { return false }
            return distance >= minimum && distance <= maximum
        case .within(.geometry(let geometry)): return SphereShapes.contains(geometry.polygons, shape)
        case .within(let area):
            let vertices = shape.vertices
            return !vertices.isEmpty && vertices.allSatisfy { Self.contains(area, $0) }
        }
    }

    private static func contains(_ area: Area, _ point: GeoPoint) -> Bool {
        switch area {
        case .box(let a, let b):
            return point.x >= min(a.x, b.x) && point.x <= max(a.x, b.x) && point.y >= min(a.y, b.y)
                && point.y <= max(a.y, b.y)
        case .circle(let center, let radius): return center.planarDistance(to: point) <= radius
        case .cap(let center, let radius): return center.angle(to: point) <= radius
        case .polygon(let corners): return contains(corners, point)
        case .geometry(let geometry): return geometry.polygons.contains { SphereShapes.contains($0, point) }
        }
    }

    /// Whether a polygon in the plane contains a point, by the even-odd rule; the border belongs to the polygon.
    private static func contains(_ corners: [GeoPoint], _ point: GeoPoint) -> Bool {
        var isInside = false
        var previous = corners[corners.count - 1]
        for corner in corners {
            let side =
                (corner.x - previous.x) * (point.y - previous.y) - (corner.y - previous.y) * (point.x - previous.x)
            let isBetween =
                point.x >= min(corner.x, previous.x) && point.x <= max(corner.x, previous.x)
                && point.y >= min(corner.y, previous.y)
                && point.y <= max(corner.y, previous.y)
            if side == 0, isBetween { return true }
            if (corner.y > point.y) != (previous.y > point.y),
                point.x < (previous.x - corner.x) * (point.y - corner.y) / (previous.y - corner.y) + corner.x
            {
                isInside.toggle()
            }
            previous = corner
        }
        return isInside
    }

    private func distance(to shape: Geometry) -> Double? {
        guard case .near(let center, let measure, _, _) = kind else { return nil }
        switch measure {
        // Only points have a distance in the plane.
        case .planar: return shape.points.map { center.planarDistance(to: $0) }.min()
        case .radians: return SphereShapes.angle(from: center, to: shape)
        case .metres: return SphereShapes.angle(from: center, to: shape).map { $0 * Self.earthRadius }
        }
    }

    /// The distance to a field's value, in the condition's own unit; `nil` if the value has no points.
    func distance(to value: Value) -> Double? {
        if let shape = Geometry(value) { return distance(to: shape) }
        guard case .array(let elements) = value else { return nil }
        return elements.compactMap { Geometry($0).flatMap(distance) }.min()
    }
}

extension Filter {
    /// A document's distance from the point of `$near` or `$nearSphere`, by which MongoDB orders the results; `nil` without them.
    public func distance(of document: Document) -> Double? {
        nearness.flatMap { nearness in document.value(at: nearness.path).flatMap { nearness.condition.distance(to: $0) }
        }
    }
}
