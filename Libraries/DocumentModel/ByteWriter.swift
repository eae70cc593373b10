/// A growing output buffer that is written through a pointer: an array's checks and reference counts would cost more than the
/// writes.
struct ByteWriter: ~Copyable {
    private var memory: UnsafeMutablePointer<UInt8>
    private(set) var count = 0
    private var capacity: Int
    /// Set if a name has a zero byte, which BSON can't represent.
    var hasBrokenName = false

    init(capacity: Int = 512) {
        memory = .allocate(capacity: capacity)
        self.capacity = capacity
    }

    deinit { memory.deallocate() }

    /// Makes room for `additional` more bytes.
    @inline(__always)
    mutating func reserve(_ additional: Int) {
        if capacity &- count < additional { grow(additional) }
    }

    @inline(never)
    private mutating func grow(_ additional: Int) {
        let larger = max(capacity * 2, count + additional)
        let moved = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
        moved.update(from: memory, count: count)
        memory.deallocate()
        memory = moved
        capacity = larger
    }

    @inline(__always)
    mutating func append(_ byte: UInt8) {
        reserve(1)
        memory[count] = byte
        count &+= 1
    }

    @inline(__always)
    mutating func append(_ text: StaticString) {
        let length = text.utf8CodeUnitCount
        reserve(length)
        (memory + count).update(from: text.utf8Start, count: length)
        count &+= length
    }

    @inline(__always)
    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let base = bytes.baseAddress else { return }
        reserve(bytes.count)
        (memory + count).update(from: base, count: bytes.count)
        count &+= bytes.count
    }

    mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { append($0) }
    }

    /// Appends bytes that the closure writes; it must write all of them.
    @inline(__always)
    mutating func append(count additional: Int, _ fill: (UnsafeMutablePointer<UInt8>) -> Void) {
        reserve(additional)
        fill(memory + count)
        count &+= additional
    }

    /// Overwrites four bytes that were written before, little-endian.
    mutating func patch(_ value: Int32, at offset: Int) {
        UnsafeMutableRawPointer(memory + offset).storeBytes(of: value.littleEndian, as: Int32.self)
    }

    mutating func append(_ number: Int64) {
        var magnitude = number.magnitude
        reserve(20)
        if number < 0 {
            memory[count] = UInt8(ascii: "-")
            count &+= 1
        }
        var length = 1, rest = magnitude
        while rest >= 10 { rest /= 10; length &+= 1 }
        var index = count &+ length
        repeat {
            index &-= 1
            let quotient = magnitude / 10
            memory[index] = UInt8(truncatingIfNeeded: magnitude &- quotient &* 10) &+ 0x30
            magnitude = quotient
        } while magnitude > 0
        count &+= length
    }

    /// Appends a number with a fixed number of digits, with leading zeros.
    mutating func append(_ number: Int, digits: Int) {
        var rest = number
        append(count: digits) { output in
            for index in stride(from: digits - 1, through: 0, by: -1) {
                output[index] = UInt8(truncatingIfNeeded: rest % 10) &+ 0x30
                rest /= 10
            }
        }
    }

    mutating func appendISODate(_ milliseconds: Int64) {
        let parts = ISODate.parts(milliseconds)
        if parts.year < 0 { append(UInt8(ascii: "-")) }
        if parts.year.magnitude > 9999 {
            append(Int64(parts.year.magnitude))
        } else {
            append(Int(parts.year.magnitude), digits: 4)
        }
        append(UInt8(ascii: "-"))
        append(parts.month, digits: 2)
        append(UInt8(ascii: "-"))
        append(parts.day, digits: 2)
        append(UInt8(ascii: "T"))
        append(parts.hour, digits: 2)
        append(UInt8(ascii: ":"))
        append(parts.minute, digits: 2)
        append(UInt8(ascii: ":"))
        append(parts.second, digits: 2)
        if parts.millisecond > 0 {
            append(UInt8(ascii: "."))
            append(parts.millisecond, digits: 3)
        }
        append(UInt8(ascii: "Z"))
    }

    func withBytes<R>(_ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        body(UnsafeBufferPointer(start: memory, count: count))
    }
}
