import Foundation

/// What is said about a figure when it has been measured.
public struct FigureReport: Sendable {
    public let figure: Figure
    public let measurement: Measurement

    public init(_ figure: Figure, _ measurement: Measurement) {
        self.figure = figure
        self.measurement = measurement
    }

    public var value: Double { measurement.values.median }
    public var reference: Double? { measurement.references.isEmpty ? nil : measurement.references.median }

    /// How we compare with the reference, better when larger: value to reference for rates, reference to value for times and sizes.
    public var ratio: Double? {
        guard let reference, value > 0, reference > 0 else { return nil }
        return figure.unit.isBetterWhenLarger ? value / reference : reference / value
    }

    /// Whether the figure is as good as the project wants it.
    public var meetsGoal: Bool {
        switch figure.goal {
        case .ratio(let least): (ratio ?? 0) >= least
        case .value(let most): value <= most
        case .none: true
        }
    }

    /// `{"name","value","unit","reference","ratio"}`; null where there is no reference.
    public var jsonLine: String {
        #"{"name":"\#(figure.name)","value":\#(number(value)),"unit":"\#(figure.unit.symbol)","#
            + #""reference":\#(reference.map(number) ?? "null"),"ratio":\#(ratio.map { round($0, 3) } ?? "null")}"#
    }

    /// One line for people: medians, the goal, and how far the rounds were apart.
    public var textLine: String {
        var line =
            figure.name.padding(toLength: 30, withPad: " ", startingAt: 0) + amount(value) + " " + figure.unit.symbol
        if let reference, let ratio { line += "   reference \(amount(reference))   ratio \(round(ratio, 2))" }
        switch figure.goal {
        case .ratio(let least): line += " (goal \(round(least, 2))\(meetsGoal ? "" : ", missed"))"
        case .value(let most): line += "   (goal at most \(amount(most))\(meetsGoal ? "" : ", missed"))"
        case .none: break
        }
        guard !measurement.references.isEmpty else { return line }
        return line + "   rounds \(range(measurement.values)) / \(range(measurement.references))"
    }

    private func range(_ samples: Samples) -> String { "\(amount(samples.minimum))…\(amount(samples.maximum))" }

    /// Three digits are all that a measurement is worth.
    private func amount(_ number: Double) -> String {
        if abs(number) >= 100 { return Int(number.rounded()).formatted(.number.locale(Locale(identifier: "en_US"))) }
        return round(number, abs(number) >= 10 ? 1 : abs(number) >= 1 ? 2 : 3)
    }

    private func number(_ number: Double) -> String { round(number, abs(number) >= 100 ? 0 : 3) }

    private func round(_ number: Double, _ digits: Int) -> String {
        String(format: "%.\(digits)f", locale: Locale(identifier: "en_US_POSIX"), number)
    }
}
