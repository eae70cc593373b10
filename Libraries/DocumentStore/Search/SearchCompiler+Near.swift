import DocumentModel
import QueryLanguage

extension SearchCompiler {
    /// `near`: the nearer a number, a date or a place is to the origin, the higher its score: `pivot / (pivot + distance)`. The
    /// distance of dates is in milliseconds, that of places in metres.
    mutating func near(_ options: Document) throws(DocumentStoreError) -> Part {
        guard let given = options["pivot"]?.doubleValue, given > 0, given.isFinite, let origin = options["origin"]
        else { throw SearchError.wrong("\"near\" needs a path, an origin and a positive pivot") }
        let pivot = min(max(given, 1e-30), 1e30)
        var parts: [Part] = []
        for path in try paths(options, of: "near") {
            let distance = "(" + (try Self.distance(of: "$" + IndexPredicate.steps(Path(path)), from: origin)) + ")"
            parts.append(
                Part(
                    condition: "\(distance) is not null",
                    score: "\(pivot)::float8 / (\(pivot)::float8 + \(distance))"))
        }
        return parts.count == 1 ? parts[0] : Self.any(parts)
    }

    /// The SQL of the distance of the value at a place in a document; null if there is none.
    private static func distance(of place: String, from origin: Value) throws(DocumentStoreError) -> String {
        switch origin {
        case .date(let milliseconds): return "abs(\(number(place + ".\"$date\"")) - (\(Double(milliseconds)))::float8)"
        case .int32, .int64, .double, .decimal128:
            guard let number = origin.doubleValue, number.isFinite else {
                throw SearchError.wrong("\"near.origin\" must be finite")
            }
            return "abs(\(Self.number(place)) - (\(min(max(number, -1e150), 1e150)))::float8)"
        case .document(let point):
            let coordinates = point["coordinates"]?.arrayValue?.compactMap(\.doubleValue) ?? []
            guard point["type"]?.stringValue == "Point", coordinates.count == 2, abs(coordinates[0]) <= 180,
                abs(coordinates[1]) <= 90
            else { throw SearchError.wrong("\"near.origin\" must be a GeoJSON point") }
            return distance(of: place, fromLongitude: coordinates[0], latitude: coordinates[1])
        default: throw SearchError.unsupported("near with an origin that is no number, no date and no point")
        }
    }

    /// By the haversine formula, on a sphere with the earth's mean radius.
    private static func distance(of place: String, fromLongitude longitude: Double, latitude: Double) -> String {
        let point = place + " ? (@.\"type\" == \"Point\").\"coordinates\""
        let (x, y) = (number(point + "[0]"), number(point + "[1]"))
        return """
            case when \(x) is not null and \(y) is not null then 2 * 6371008.8 * asin(sqrt(greatest(0, least(1,
            power(sin(radians(\(y) - (\(latitude))) / 2), 2) + cos(radians(\(y))) * cos(radians((\(latitude))::float8))
            * power(sin(radians(\(x) - (\(longitude))) / 2), 2))))) end
            """
    }

    /// The SQL of the first number at a place, at most 1e150; null if there is none.
    static func number(_ place: String) -> String {
        let found = FilterTranslation.literal(place + " ? (@.type() == \"number\")")
        return "partita.search_number(jsonb_path_query_first(document, \(found)::jsonpath)::numeric)"
    }
}
