import EventLoop

/// The storage of one series' values.
protocol MetricStorage: AnyObject, Sendable {
    /// Appends the samples of the series; `labels` is empty or `name="value",…`.
    func append(name: String, labels: String, to text: inout String)
}

/// One metric: a name with its kind and help, and a series per combination of dimension values.
final class MetricFamilyStorage: Sendable {
    let label: String
    let kind: MetricKind
    let help: String
    let dimensions: [String]

    private let series = Locked<[[String]: any MetricStorage]>([:])

    init(label: String, kind: MetricKind, help: String, dimensions: [String]) {
        self.label = label
        self.kind = kind
        self.help = help
        self.dimensions = dimensions
    }

    func storage(_ values: [String], make: () -> any MetricStorage) -> any MetricStorage {
        series.withLock { series in
            if let storage = series[values] { return storage }
            var values = values
            if series.count >= MetricsRegistry.seriesLimit {
                values = dimensions.map { _ in "_overflow" }
                if let storage = series[values] { return storage }
            }
            let storage = make()
            series[values] = storage
            return storage
        }
    }

    func append(to text: inout String) {
        let all = series.withLock { $0.map { (labels: labelText($0.key), storage: $0.value) } }
        text += "# HELP \(label) \(escape(help, quotes: false))\n# TYPE \(label) \(kind.rawValue)\n"
        for (labels, storage) in all.sorted(by: { $0.labels < $1.labels }) {
            storage.append(name: label, labels: labels, to: &text)
        }
    }

    private func labelText(_ values: [String]) -> String {
        zip(dimensions, values).map { "\($0)=\"\(escape($1, quotes: true))\"" }.joined(separator: ",")
    }

    private func escape(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }
}

/// Prometheus' kinds of metrics; the raw value is the word in a TYPE line.
enum MetricKind: String, Sendable {
    case counter, gauge, histogram
}

enum MetricName {
    /// Checks names. They come from the code, never from outside, so a wrong one is a programming error.
    static func check(_ label: String, kind: MetricKind, dimensions: [String]) {
        precondition(isName(label), "\(label) is not a Prometheus metric name")
        precondition(
            kind != .counter || label.hasSuffix("_total"), "the name of the counter \(label) must end in _total")
        for dimension in dimensions {
            precondition(
                isName(dimension) && dimension != "le" && !dimension.hasPrefix("__"),
                "\(dimension) is not a Prometheus label name")
        }
    }

    private static func isName(_ name: String) -> Bool {
        guard let first = name.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
            return false
        }
        return name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }
}

/// Appends one sample line.
func appendSample(_ name: String, _ labels: String, _ value: String, to text: inout String) {
    text += name
    if !labels.isEmpty { text += "{\(labels)}" }
    text += " \(value)\n"
}

/// A number in Prometheus' format.
func sampleText(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
    if value == value.rounded(), abs(value) < 1e15 { return String(Int64(value)) }
    return value.description
}
