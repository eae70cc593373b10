import EventLoop
import Testing

struct FIFOTests {
    @Test func `elements leave in the order in which they came, also from the middle`() {
        var queue = FIFO<Int>()
        var reference: [Int] = []
        var random = SystemRandomNumberGenerator()
        for number in 0..<10_000 {
            if reference.isEmpty || Int.random(in: 0..<5, using: &random) > 1 {
                queue.append(number)
                reference.append(number)
            } else if Bool.random(using: &random) {
                #expect(queue.removeFirst() == reference.removeFirst())
            } else {
                let place = Int.random(in: 0..<reference.count, using: &random)
                #expect(queue.remove(at: queue.waiting.startIndex + place) == reference.remove(at: place))
            }
            #expect(queue.isEmpty == reference.isEmpty)
        }
        #expect(Array(queue.waiting) == reference)
    }
}
