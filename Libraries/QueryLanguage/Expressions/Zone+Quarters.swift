import DocumentModel
import Synchronization

extension Zone {
    /// A quarter of an hour, in milliseconds.
    package static let quarter: Int64 = 900_000
    /// From 2000 to 2037, in milliseconds since 1970: for these ``keepsQuarters`` is known.
    package static let knownMoments: Range<Int64> = 946_684_800_000..<2_145_916_800_000

    /// Whether all of its offsets in ``knownMoments`` are whole quarters of an hour, and all changes of them are at whole quarters: then the
    /// zone's hours, days and all that is longer begin with one. It isn't so in St. John's until 2011, for instance.
    package var keepsQuarters: Bool {
        if isUTC { return true }
        guard let name else { return offset(at: 0) % Self.quarter == 0 }
        if let known = Self.known.withLock({ $0[ExactText(name)] }) { return known }
        let keeps = findsQuarters()
        Self.known.withLock { if $0.count < 1000 { $0[ExactText(name)] = keeps } }
        return keeps
    }

    /// By name; the tz database has some hundred of them.
    private static let known = Mutex<[ExactText: Bool]>([:])

    private func findsQuarters() -> Bool {
        let day: Int64 = 86_400_000
        var before = offset(at: Self.knownMoments.lowerBound)
        guard before % Self.quarter == 0 else { return false }
        for moment in stride(
            from: Self.knownMoments.lowerBound + day, through: Self.knownMoments.upperBound, by: Int(day))
        {
            let after = offset(at: moment)
            if after == before { continue }
            // Somewhere on this day.
            var (low, high) = (moment - day, moment)
            while high - low > 1000 {
                let middle = low + (high - low) / 2000 * 1000
                if offset(at: middle) == before { low = middle } else { high = middle }
            }
            guard high % Self.quarter == 0, after % Self.quarter == 0 else { return false }
            before = after
        }
        return true
    }
}
