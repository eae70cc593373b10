import Foundation

/// Containment and intersection of shapes on the sphere, whose lines are great circles. Polygons are at most a hemisphere.
enum SphereShapes {
    private static let tolerance = 1e-12

    /// Whether a point is in a polygon (with holes), or on its border.
    static func contains(_ polygon: [[GeoPoint]], _ point: GeoPoint) -> Bool {
        guard let outer = polygon.first else { return false }
        let place = point.vector
        if polygon.contains(where: { ring in zip(ring, ring.dropFirst()).contains { isOn($0.vector, $1.vector, place) }
        }) {
            return true
        }
        return isInside(outer, place) && !polygon.dropFirst().contains { isInside($0, place) }
    }

    /// Whether a ring goes around a point: adds up the angles under which its segments are seen from the point.
    private static func isInside(_ ring: [GeoPoint], _ place: GeoVector) -> Bool {
        let corners = ring.map(\.vector)
        let middle = corners.dropLast().reduce(GeoVector(x: 0, y: 0, z: 0), +)
        // The ring also goes around the antipodes of the points inside.
        guard place.dot(middle) > 0 else { return false }
        var turned = 0.0
        for (a, b) in zip(corners, corners.dropFirst()) {
            let left = place.cross(a), right = place.cross(b)
            turned += atan2(place.dot(left.cross(right)), left.dot(right))
        }
        return abs(turned) > .pi
    }

    private static func isOn(_ a: GeoVector, _ b: GeoVector, _ place: GeoVector) -> Bool {
        let normal = a.cross(b)
        guard abs(normal.dot(place)) < tolerance else { return false }
        return a.dot(place) >= a.dot(b) - tolerance && b.dot(place) >= a.dot(b) - tolerance
    }

    /// The angle from a point to the nearest point of a shape; `nil` for an empty shape.
    static func angle(from point: GeoPoint, to shape: Geometry) -> Double? {
        if shape.polygons.contains(where: { contains($0, point) }) { return 0 }
        let place = point.vector
        let corners = shape.vertices.map { point.angle(to: $0) }
        let feet = shape.segments.compactMap { piece in
            let a = piece.0.vector, b = piece.1.vector
            let normal = a.cross(b)
            let length = normal.dot(normal).squareRoot()
            guard length > 0 else { return nil as Double? }
            // The foot of the perpendicular counts only if it lies between both ends.
            guard normal.cross(a).dot(place) > 0, b.cross(normal).dot(place) > 0 else { return nil }
            return asin(min(1, abs(normal.dot(place)) / length))
        }
        return (corners + feet).min()
    }

    /// Whether two great-circle segments meet.
    static func cross(_ first: (GeoPoint, GeoPoint), _ second: (GeoPoint, GeoPoint)) -> Bool {
        let a = first.0.vector, b = first.1.vector, c = second.0.vector, d = second.1.vector
        if isOn(a, b, c) || isOn(a, b, d) || isOn(c, d, a) || isOn(c, d, b) { return true }
        return crossProperly(a, b, c, d)
    }

    /// Whether each segment crosses from one side of the other to its other side.
    private static func crossProperly(_ a: GeoVector, _ b: GeoVector, _ c: GeoVector, _ d: GeoVector) -> Bool {
        let first = a.cross(b), second = c.cross(d)
        let sides = [first.dot(c), first.dot(d), second.dot(a), second.dot(b)]
        guard sides[0] * sides[1] < 0, sides[2] * sides[3] < 0 else { return false }
        // Great circles meet at two points: the segments share only the one on their own side of the sphere.
        return (a + b).dot(c + d) > 0
    }

    /// Whether a whole shape lies in one of the polygons.
    static func contains(_ polygons: [[[GeoPoint]]], _ shape: Geometry) -> Bool {
        let vertices = shape.vertices
        guard !vertices.isEmpty, vertices.allSatisfy({ point in polygons.contains { contains($0, point) } }) else {
            return false
        }
        let borders = polygons.flatMap { $0.flatMap { ring in zip(ring, ring.dropFirst()).map { ($0, $1) } } }
        return !shape.segments.contains { piece in
            borders.contains { crossProperly(piece.0.vector, piece.1.vector, $0.0.vector, $0.1.vector) }
        }
    }

    /// Whether two shapes have a point in common.
    static func intersect(_ a: Geometry, _ b: Geometry) -> Bool {
        if a.vertices.contains(where: { point in b.polygons.contains { contains($0, point) } }) { return true }
        if b.vertices.contains(where: { point in a.polygons.contains { contains($0, point) } }) { return true }
        if a.points.contains(where: { b.points.contains($0) }) { return true }
        let left = a.segments, right = b.segments
        if a.points.contains(where: { point in right.contains { isOn($0.0.vector, $0.1.vector, point.vector) } }) {
            return true
        }
        if b.points.contains(where: { point in left.contains { isOn($0.0.vector, $0.1.vector, point.vector) } }) {
            return true
        }
        return left.contains { piece in right.contains { cross(piece, $0) } }
    }
}
