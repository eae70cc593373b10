import DocumentModel
import EventLoop
import Postgres
import ServiceEngines
import TestSupport
import Testing

struct ClockComparisonTests {
    /// - Parameter ahead: milliseconds by which the machine's clock is ahead of Postgres'.
    private func reason(ahead: Int64) async throws -> String? {
        let url = try await TestEngines.shared().makeDatabase(), loops = LoopGroup(1)
        return try await PostgresClient.withClient(PostgresConfiguration(url: url), on: loops) { client in
            let clock = WallClock { WallClock.system.now() + ahead }
            do {
                try await ClockComparison(client: client, clock: clock).check()
                return nil
            } catch let wrong as ClockComparison.Wrong {
                return wrong.description
            }
        }
    }

    @Test(arguments: [0, 20_000, -20_000])
    func `clocks may differ a little`(ahead: Int64) async throws {
        #expect(try await reason(ahead: ahead) == nil)
    }

    @Test(arguments: [
        (40_000, "40 s ahead of"), (-40_000, "40 s behind"), (1_200_500, "20 min ahead of"),
        (-10_800_500, "3 h behind"), (8_280_000_500, "2300 h ahead of"),
    ])
    func `a clock that is wrong is named, with the difference`(ahead: Int64, text: String) async throws {
        #expect(try await reason(ahead: ahead)?.contains(text) == true)
    }
}
