/* Spin: the two-shot collective. RANKS ranks each run LAUNCHES launches of
   BLOCKS blocks on PLACES places, in any order of dispatch. A producer writes a
   rank's input before each launch and a consumer reads its output after it, as
   in a stream. Blocks meet the same block of each peer by epochs, before they
   pull inputs and after they have pushed outputs.

   Shown: no deadlock; inputs and outputs are those of the launch.
   WHOLE_GRID: blocks wait for all blocks of a peer, which needs places for all.
   Faults that must be found: NO_ENTRY, NO_EXIT, STALE_EPOCH, SHARED_FLAGS. */
#ifndef RANKS
#define RANKS 2
#endif
#ifndef BLOCKS
#define BLOCKS 2
#endif
#ifndef PLACES
#define PLACES BLOCKS
#endif
#ifndef LAUNCHES
#define LAUNCHES 2
#endif

#ifdef SHARED_FLAGS
#define PHASE(phase) 0
#else
#define PHASE(phase) phase
#endif
#define FLAG(phase, owner, block, peer) \
  flags[((PHASE(phase) * RANKS + (owner)) * BLOCKS + (block)) * RANKS + (peer)]

#ifdef STALE_EPOCH
#define EPOCH(launch) 1
#else
#define EPOCH(launch) launch
#endif

byte flags[2 * RANKS * BLOCKS * RANKS];
byte taken[RANKS];                    /* places */
byte done[RANKS];                     /* blocks of the launch that have ended */
byte launchOf[RANKS];                 /* launch that the stream is at: 1, 2, ... */
byte inputs[RANKS];                   /* launch whose input is there */
byte outputs[RANKS * RANKS * BLOCKS]; /* launch whose part is there */

inline meet(phase) {
  peer = 0;
  do
  :: peer == RANKS -> break
  :: else -> FLAG(phase, peer, block, rank) = EPOCH(launch); peer++
  od;
  peer = 0;
  do
  :: peer == RANKS -> break
  :: else ->
#ifdef WHOLE_GRID
     other = 0;
     do
     :: other == BLOCKS -> break
     :: else -> FLAG(phase, rank, other, peer) >= EPOCH(launch); other++
     od;
#else
     FLAG(phase, rank, block, peer) >= EPOCH(launch);
#endif
     peer++
  od
}

proctype Block(byte rank; byte block) {
  byte launch = 1;
  byte peer;
  byte other;
  do
  :: launch > LAUNCHES -> break
  :: else ->
     atomic { launchOf[rank] == launch && taken[rank] < PLACES -> taken[rank]++ }
#ifndef NO_ENTRY
     meet(0);
#endif
     peer = 0;
     do
     :: peer == RANKS -> break
     :: else -> assert(inputs[peer] == launch); peer++
     od;
     peer = 0;
     do
     :: peer == RANKS -> break
     :: else -> outputs[(peer * RANKS + rank) * BLOCKS + block] = launch; peer++
     od;
#ifndef NO_EXIT
     meet(1);
#endif
     atomic {
       taken[rank]--;
       done[rank]++;
       if
       :: done[rank] == BLOCKS ->
          peer = 0;
          do
          :: peer == RANKS * BLOCKS -> break
          :: else -> assert(outputs[rank * RANKS * BLOCKS + peer] == launch); peer++
          od;
          done[rank] = 0;
          inputs[rank] = launch + 1;
          launchOf[rank] = launch + 1
       :: else
       fi
     }
     launch++
  od
}

init {
  byte rank = 0;
  byte block;
  atomic {
    do
    :: rank == RANKS -> break
    :: else -> launchOf[rank] = 1; inputs[rank] = 1; rank++
    od;
    rank = 0;
    do
    :: rank == RANKS -> break
    :: else ->
       block = 0;
       do
       :: block == BLOCKS -> break
       :: else -> run Block(rank, block); block++
       od;
       rank++
    od
  }
}
