#include "protocol/limits.hpp"

namespace dunlin::protocol {

IntVariable eager_bytes{"EAGER_BYTES",
                        64 << 10,
                        "bytes",
                        "largest message that is sent at once, without asking the receiver, from memory that "
                        "other ranks cannot map",
                        0,
                        1 << 30};
IntVariable shared_bytes{
    "SHARED_COPY_BYTES",
    32 << 10,
    "bytes",
    "smallest message that is copied once, from buffer to buffer, where one rank can map the other's buffer; "
    "data with gaps from half of that on",
    1,
    1 << 30};
IntVariable chunk_bytes{"SHARED_COPY_CHUNK_BYTES",
                        128 << 10,
                        "bytes",
                        "a shared copy is cut in halves, or where these are longer in chunks of this size",
                        64,
                        1 << 30};
IntVariable help_polls{"SHARED_COPY_HELP_POLLS",
                       32,
                       "polls",
                       "how often a rank that waits for sends and receives polls without news before it "
                       "helps its receivers to copy",
                       0,
                       1 << 20};

}  // namespace dunlin::protocol
