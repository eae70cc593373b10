import BenchmarkRunner
import Foundation
import Testing

@Suite struct FigureReportTests {
    private func report(
        _ unit: Figure.Unit, value: Double, reference: Double?, goal: Figure.Goal = .none
    ) -> FigureReport {
        var measurement = Measurement()
        if let reference {
            measurement.add(value: value, reference: reference)
        } else {
            measurement = Measurement(value: value)
        }
        return FigureReport(Figure("part.what", unit, goal: goal), measurement)
    }

    @Test func `the ratio of a rate is the value to its reference`() {
        #expect(report(.perSecond, value: 50, reference: 200).ratio == 0.25)
        #expect(report(.megabytesPerSecond, value: 300, reference: 100).ratio == 3)
    }

    @Test func `the ratio of a time is the reference to the value`() {
        #expect(report(.milliseconds, value: 4, reference: 1).ratio == 0.25)
        #expect(report(.bytes, value: 100, reference: 200).ratio == 2)
    }

    @Test func `a JSON line has exactly the five keys`() throws {
        let line = report(.perSecond, value: 71234.4, reference: 100_000).jsonLine
        #expect(line == #"{"name":"part.what","value":71234,"unit":"1/s","reference":100000,"ratio":0.712}"#)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(Set(object.keys) == ["name", "value", "unit", "reference", "ratio"])
    }

    @Test func `a figure without a reference has null for it and for the ratio`() {
        let line = report(.bytes, value: 8192, reference: nil).jsonLine
        #expect(line == #"{"name":"part.what","value":8192,"unit":"bytes","reference":null,"ratio":null}"#)
    }

    @Test func `a goal is missed below its ratio and above its value`() {
        #expect(report(.perSecond, value: 40, reference: 100, goal: .ratio(atLeast: 0.4)).meetsGoal)
        #expect(!report(.perSecond, value: 39, reference: 100, goal: .ratio(atLeast: 0.4)).meetsGoal)
        #expect(report(.bytes, value: 100, reference: nil, goal: .value(atMost: 100)).meetsGoal)
        #expect(!report(.bytes, value: 101, reference: nil, goal: .value(atMost: 100)).meetsGoal)
    }

    @Test func `the line for people tells the medians and the spread of the rounds`() {
        var measurement = Measurement()
        for (value, reference) in [(100.0, 300.0), (120, 200), (110, 220)] {
            measurement.add(value: value, reference: reference)
        }
        let figure = Figure("part.what", .perSecond, goal: .ratio(atLeast: 0.6))
        let line = FigureReport(figure, measurement).textLine
        #expect(line.hasPrefix("part.what "))
        #expect(line.contains("110 1/s   reference 220   ratio 0.50 (goal 0.60, missed)"))
        #expect(line.hasSuffix("rounds 100…120 / 200…300"))
    }
}

@Suite struct SamplesTests {
    @Test func `the median of an even number of samples lies between the middle ones`() {
        #expect(Samples([4, 1, 3, 2]).median == 2.5)
        #expect(Samples([3, 1, 2]).median == 2)
        #expect(Samples().median == 0)
    }

    @Test func `a percentile is the nearest rank`() {
        let samples = Samples((1...100).map(Double.init))
        #expect(samples.percentile(0.5) == 50)
        #expect(samples.percentile(0.99) == 99)
        #expect(samples.percentile(1) == 100)
        #expect(samples.percentile(0) == 1)
    }
}
