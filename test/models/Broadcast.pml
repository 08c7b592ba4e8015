/* Spin: an owner pushes a tensor to its peers in CHUNKS chunks, each followed by
   that chunk's flag; peers use a chunk as soon as its flag has come to the
   launch's epoch. The buffer is used again by the next launch, whose owner may be
   another rank: an entry barrier keeps it from peers that still read.

   Shown: every chunk that is used is the launch's. Faults that must be found:
   NO_ENTRY, FLAG_FIRST, ONE_FLAG (of the first chunk, for all). */
#ifndef RANKS
#define RANKS 3
#endif
#ifndef CHUNKS
#define CHUNKS 2
#endif
#ifndef LAUNCHES
#define LAUNCHES 3
#endif

byte ready[RANKS * RANKS];      /* [owner of the flag][from]: epochs of entry */
byte flags[RANKS * CHUNKS];     /* [rank][chunk]: epochs */
byte chunks[RANKS * CHUNKS];    /* launch whose bytes are there */

proctype Rank(byte rank) {
  byte launch = 1;
  byte peer;
  byte chunk;
  byte owner;
  do
  :: launch > LAUNCHES -> break
  :: else ->
     owner = launch % RANKS;
#ifndef NO_ENTRY
     /* Who receives says that it has done with the launch before. */
     if
     :: rank != owner -> ready[owner * RANKS + rank] = launch
     :: else ->
        peer = 0;
        do
        :: peer == RANKS -> break
        :: else ->
           if
           :: peer != rank -> ready[rank * RANKS + peer] >= launch
           :: else
           fi;
           peer++
        od
     fi;
#endif
     chunk = 0;
     do
     :: chunk == CHUNKS -> break
     :: else ->
        if
        :: rank == owner ->
           peer = 0;
           do
           :: peer == RANKS -> break
           :: else ->
#ifdef FLAG_FIRST
              flags[peer * CHUNKS + chunk] = launch;
              chunks[peer * CHUNKS + chunk] = launch;
#else
              chunks[peer * CHUNKS + chunk] = launch;
              flags[peer * CHUNKS + chunk] = launch;
#endif
              peer++
           od
        :: else ->
#ifdef ONE_FLAG
           flags[rank * CHUNKS] >= launch;
#else
           flags[rank * CHUNKS + chunk] >= launch;
#endif
           assert(chunks[rank * CHUNKS + chunk] == launch)
        fi;
        chunk++
     od;
     launch++
  od
}

init {
  byte rank = 0;
  atomic {
    do
    :: rank == RANKS -> break
    :: else -> run Rank(rank); rank++
    od
  }
}
