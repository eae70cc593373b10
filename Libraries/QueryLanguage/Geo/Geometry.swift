import DocumentModel
import Foundation

/// A pair of coordinates: longitude and latitude, or x and y.
struct GeoPoint: Hashable, Sendable {
    let x: Double
    let y: Double

    /// Reads `[x, y]`, or a document whose first two fields are the coordinates.
    init?(_ value: Value) {
        let numbers: [Value]
        switch value {
        case .array(let elements): numbers = elements
        case .document(let document): numbers = document.fields.map(\.value)
        default: return nil
        }
        guard numbers.count >= 2, let x = numbers[0].doubleValue, let y = numbers[1].doubleValue, x.isFinite, y.isFinite
        else { return nil }
        self.x = x
        self.y = y
    }

    var isOnEarth: Bool { abs(x) <= 180 && abs(y) <= 90 }

    var vector: GeoVector {
        let longitude = x * .pi / 180, latitude = y * .pi / 180
        return GeoVector(x: cos(latitude) * cos(longitude), y: cos(latitude) * sin(longitude), z: sin(latitude))
    }

    /// The angle between two points in radians (haversine formula, which is accurate for small angles too).
    func angle(to other: GeoPoint) -> Double {
        let a = y * .pi / 180, b = other.y * .pi / 180
        let latitude = sin((b - a) / 2), longitude = sin((other.x - x) * .pi / 360)
        return 2 * asin(min(1, sqrt(latitude * latitude + cos(a) * cos(b) * longitude * longitude)))
    }

    func planarDistance(to other: GeoPoint) -> Double { hypot(x - other.x, y - other.y) }
}

/// A point on the unit sphere.
struct GeoVector: Sendable {
    let x: Double
    let y: Double
    let z: Double

    func dot(_ other: GeoVector) -> Double { x * other.x + y * other.y + z * other.z }

    func cross(_ other: GeoVector) -> GeoVector {
        GeoVector(x: y * other.z - z * other.y, y: z * other.x - x * other.z, z: x * other.y - y * other.x)
    }

    static func + (a: GeoVector, b: GeoVector) -> GeoVector { GeoVector(x: a.x + b.x, y: a.y + b.y, z: a.z + b.z) }
}

/// A shape as its parts: points, lines, and polygons with their holes.
struct Geometry: Sendable {
    var points: [GeoPoint] = []
    var lines: [[GeoPoint]] = []
    var polygons: [[[GeoPoint]]] = []

    /// Reads a GeoJSON object, or a legacy pair of coordinates.
    init?(_ value: Value) {
        if case .document(let document) = value, case .string(let type)? = document["type"] {
            guard add(type, document) else { return nil }
        } else {
            guard let point = GeoPoint(value) else { return nil }
            points = [point]
        }
    }

    private mutating func add(_ type: String, _ document: Document) -> Bool {
        let coordinates = document["coordinates"]
        switch type {
        case "Point":
            guard let coordinates, let point = GeoPoint(coordinates), point.isOnEarth else { return false }
            points.append(point)
        case "MultiPoint":
            guard let list = Self.list(coordinates) else { return false }
            points += list
        case "LineString":
            guard let list = Self.list(coordinates), list.count >= 2 else { return false }
            lines.append(list)
        case "MultiLineString":
            for line in coordinates?.arrayValue ?? [] {
                guard let list = Self.list(line), list.count >= 2 else { return false }
                lines.append(list)
            }
            return !lines.isEmpty
        case "Polygon": return addPolygon(coordinates)
        case "MultiPolygon":
            guard let list = coordinates?.arrayValue, !list.isEmpty else { return false }
            return list.allSatisfy { addPolygon($0) }
        case "GeometryCollection":
            guard let list = document["geometries"]?.arrayValue, !list.isEmpty else { return false }
            for geometry in list {
                guard case .document(let part) = geometry, case .string(let type)? = part["type"],
                    type != "GeometryCollection", add(type, part)
                else {
                    return false
                }
            }
        default: return false
        }
        return true
    }

    private mutating func addPolygon(_ value: Value?) -> Bool {
        guard let rings = value?.arrayValue, !rings.isEmpty else { return false }
        var polygon: [[GeoPoint]] = []
        for ring in rings {
            guard let list = Self.list(ring), list.count >= 4, list.first == list.last else { return false }
            polygon.append(list)
        }
        polygons.append(polygon)
        return true
    }

    private static func list(_ value: Value?) -> [GeoPoint]? {
        guard let elements = value?.arrayValue, !elements.isEmpty else { return nil }
        var points: [GeoPoint] = []
        for element in elements {
            guard let point = GeoPoint(element), point.isOnEarth else { return nil }
            points.append(point)
        }
        return points
    }

    var vertices: [GeoPoint] { points + lines.flatMap { $0 } + polygons.flatMap { $0.flatMap { $0 } } }

    /// The segments of lines and of polygons' borders.
    var segments: [(GeoPoint, GeoPoint)] {
        (lines + polygons.flatMap { $0 }).flatMap { list in zip(list, list.dropFirst()).map { ($0, $1) } }
    }
}
