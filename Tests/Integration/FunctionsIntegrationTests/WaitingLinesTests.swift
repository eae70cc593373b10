import Testing

@testable import Functions

@Suite struct WaitingLinesTests {
    private func add(_ count: Int, of app: String, to lines: inout WaitingLines) -> Int {
        (0..<count).filter { lines.add(.init(app: app, function: "f", level: "info", message: "\($0)")) }.count
    }

    @Test func `an app that logs without end loses its own lines only`() {
        var lines = WaitingLines(capacity: 100)
        #expect(add(1000, of: "busy", to: &lines) == 50)
        #expect(add(25, of: "other", to: &lines) == 25)
        #expect(add(1000, of: "busy", to: &lines) == 0)
        #expect(add(1, of: "third", to: &lines) == 1)
    }

    @Test func `apps take turns, and their lines are in order`() {
        var lines = WaitingLines(capacity: 100)
        #expect(add(20, of: "busy", to: &lines) == 20)
        #expect(add(2, of: "other", to: &lines) == 2)
        let first = lines.take(4)
        #expect(first.map(\.app) == ["busy", "other", "busy", "other"])
        #expect(first.map(\.message) == ["0", "0", "1", "1"])
        #expect(lines.take(100).map(\.message) == (2..<20).map { "\($0)" })
        #expect(lines.take(1).isEmpty)
    }
}
