// Heat equation on a square plate, in parallel: the program that `make run` shows first.
//
// Each rank owns one rectangular tile of the plate and, every time step, swaps the cells along its four edges
// (its "halo") with its neighbours.  At the end rank 0 collects the tiles and compares them with a solution
// it computed alone.  Runs on any number of ranks: `mpirun -n 6 heat2d [cells per side] [time steps]
// [picture]`. The picture is `plain` (letters, at the end), `live` (in colour on a terminal, while it runs)
// or `none`.
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kDefaultCells = 512, kDefaultSteps = 2000, kPictureRows = 12, kPictureColumns = 48 };
enum { kFrames = 60, kFrameMilliseconds = 50 };  // of the live picture

// A tile of the plate with one layer of halo cells around it; rows are contiguous.
typedef struct {
  int rows, columns;            // cells owned, without the halo
  int first_row, first_column;  // where the tile lies on the plate
  double *now, *next;           // (rows + 2) x (columns + 2) temperatures each
} Tile;

// This rank's place in the grid of ranks.
typedef struct {
  int ranks_down, ranks_across;
  int up, down, left, right;  // neighbours, or MPI_PROC_NULL at the rim of the plate
} Place;

static size_t at(const Tile* tile, int row, int column) { return (size_t)row * (tile->columns + 2) + column; }

static int block_start(int cells, int index, int parts) { return (int)((long long)cells * index / parts); }

static Tile make_tile(int cells, int row, int ranks_down, int column, int ranks_across) {
  Tile tile;
  tile.first_row = block_start(cells, row, ranks_down);
  tile.rows = block_start(cells, row + 1, ranks_down) - tile.first_row;
  tile.first_column = block_start(cells, column, ranks_across);
  tile.columns = block_start(cells, column + 1, ranks_across) - tile.first_column;
  const size_t count = (size_t)(tile.rows + 2) * (tile.columns + 2);
  tile.now = calloc(count, sizeof(double));
  tile.next = calloc(count, sizeof(double));
  if (!tile.now || !tile.next) {
    fprintf(stderr, "heat2d: no memory for a tile of %d x %d cells\n", tile.rows, tile.columns);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return tile;
}

// A hot disc in a cold plate; the rim is held at zero.
static void heat_disc(Tile* tile, int cells) {
  for (int row = 1; row <= tile->rows; ++row)
    for (int column = 1; column <= tile->columns; ++column) {
      const double y = (double)(tile->first_row + row - 1) / cells - 0.4;
      const double x = (double)(tile->first_column + column - 1) / cells - 0.55;
      tile->now[at(tile, row, column)] = x * x + y * y < 0.06 ? 100.0 : 0.0;
    }
}

// One explicit step.  Every cell is computed by the same expression however the plate is cut, so that the
// parallel and the serial result agree to the last bit.
static void step(Tile* tile) {
  for (int row = 1; row <= tile->rows; ++row) {
    const double* above = tile->now + at(tile, row - 1, 0);
    const double* here = tile->now + at(tile, row, 0);
    const double* below = tile->now + at(tile, row + 1, 0);
    double* out = tile->next + at(tile, row, 0);
    for (int column = 1; column <= tile->columns; ++column)
      out[column] = here[column] + 0.2 * (above[column] + below[column] + here[column - 1] +
                                          here[column + 1] - 4.0 * here[column]);
  }
  double* const swap = tile->now;
  tile->now = tile->next;
  tile->next = swap;
}

// The nearest-to-square grid whose number of places is the number of ranks.
static Place find_place(int rank, int ranks) {
  Place place;
  place.ranks_down = (int)sqrt((double)ranks);
  while (ranks % place.ranks_down != 0) --place.ranks_down;
  place.ranks_across = ranks / place.ranks_down;
  const int row = rank / place.ranks_across, column = rank % place.ranks_across;
  place.up = row > 0 ? rank - place.ranks_across : MPI_PROC_NULL;
  place.down = row + 1 < place.ranks_down ? rank + place.ranks_across : MPI_PROC_NULL;
  place.left = column > 0 ? rank - 1 : MPI_PROC_NULL;
  place.right = column + 1 < place.ranks_across ? rank + 1 : MPI_PROC_NULL;
  return place;
}

static void copy_column(const Tile* tile, int column, double* out) {
  for (int row = 0; row < tile->rows; ++row) out[row] = tile->now[at(tile, row + 1, column)];
}

static void fill_column(Tile* tile, int column, const double* in) {
  for (int row = 0; row < tile->rows; ++row) tile->now[at(tile, row + 1, column)] = in[row];
}

// Columns are not contiguous and travel through the four strips; rows go straight from and into the tile.
static void swap_halos(Tile* tile, const Place* place, double* strips[4]) {
  enum { kUp, kDown, kLeft, kRight };  // the tag is the direction of travel
  MPI_Request requests[8];
  int count = 0;
  double *from_left = strips[0], *from_right = strips[1], *to_left = strips[2], *to_right = strips[3];
  copy_column(tile, 1, to_left);
  copy_column(tile, tile->columns, to_right);
  double* const grid = tile->now;
  MPI_Irecv(grid + at(tile, 0, 1), tile->columns, MPI_DOUBLE, place->up, kDown, MPI_COMM_WORLD,
            &requests[count++]);
  MPI_Irecv(grid + at(tile, tile->rows + 1, 1), tile->columns, MPI_DOUBLE, place->down, kUp, MPI_COMM_WORLD,
            &requests[count++]);
  MPI_Irecv(from_left, tile->rows, MPI_DOUBLE, place->left, kRight, MPI_COMM_WORLD, &requests[count++]);
  MPI_Irecv(from_right, tile->rows, MPI_DOUBLE, place->right, kLeft, MPI_COMM_WORLD, &requests[count++]);
  MPI_Isend(grid + at(tile, 1, 1), tile->columns, MPI_DOUBLE, place->up, kUp, MPI_COMM_WORLD,
            &requests[count++]);
  MPI_Isend(grid + at(tile, tile->rows, 1), tile->columns, MPI_DOUBLE, place->down, kDown, MPI_COMM_WORLD,
            &requests[count++]);
  MPI_Isend(to_left, tile->rows, MPI_DOUBLE, place->left, kLeft, MPI_COMM_WORLD, &requests[count++]);
  MPI_Isend(to_right, tile->rows, MPI_DOUBLE, place->right, kRight, MPI_COMM_WORLD, &requests[count++]);
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  if (place->left != MPI_PROC_NULL) fill_column(tile, 0, from_left);
  if (place->right != MPI_PROC_NULL) fill_column(tile, tile->columns + 1, from_right);
}

// Rank 0 puts the tiles together; the answer, without a halo, belongs to the caller.  NULL on other ranks.
static double* collect(const Tile* tile, int cells, int rank, int ranks, const Place* place) {
  enum { kTag = 9 };
  const int own = tile->rows * tile->columns;
  double* packed = malloc((size_t)cells * cells * sizeof(double));
  for (int row = 0; row < tile->rows; ++row)
    memcpy(packed + (size_t)row * tile->columns, tile->now + at(tile, row + 1, 1),
           tile->columns * sizeof(double));
  if (rank != 0) {
    MPI_Send(packed, own, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD);
    free(packed);
    return NULL;
  }
  double* plate = malloc((size_t)cells * cells * sizeof(double));
  for (int source = 0; source < ranks; ++source) {
    const int grid_row = source / place->ranks_across, grid_column = source % place->ranks_across;
    const int first_row = block_start(cells, grid_row, place->ranks_down);
    const int rows = block_start(cells, grid_row + 1, place->ranks_down) - first_row;
    const int first_column = block_start(cells, grid_column, place->ranks_across);
    const int columns = block_start(cells, grid_column + 1, place->ranks_across) - first_column;
    if (source != 0)
      MPI_Recv(packed, rows * columns, MPI_DOUBLE, source, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int row = 0; row < rows; ++row)
      memcpy(plate + (size_t)(first_row + row) * cells + first_column, packed + (size_t)row * columns,
             columns * sizeof(double));
  }
  free(packed);
  return plate;
}

static double largest_difference(const double* plate, int cells, int steps, double* serial_seconds) {
  Tile whole = make_tile(cells, 0, 1, 0, 1);
  heat_disc(&whole, cells);
  const double start = MPI_Wtime();
  for (int i = 0; i < steps; ++i) step(&whole);
  *serial_seconds = MPI_Wtime() - start;
  double largest = 0;
  for (int row = 0; row < cells; ++row)
    for (int column = 0; column < cells; ++column)
      largest = fmax(largest,
                     fabs(plate[(size_t)row * cells + column] - whole.now[at(&whole, row + 1, column + 1)]));
  free(whole.now);
  free(whole.next);
  return largest;
}

static void draw(const double* plate, int cells) {
  static const char shades[] = " .:-=+*#%@";
  for (int row = 0; row < kPictureRows; ++row) {
    char line[kPictureColumns + 1];
    for (int column = 0; column < kPictureColumns; ++column) {
      const size_t y = ((size_t)row * 2 + 1) * cells / (2 * kPictureRows);
      const size_t x = ((size_t)column * 2 + 1) * cells / (2 * kPictureColumns);
      const int shade = (int)(plate[y * cells + x] / 100.0 * 9.999);
      line[column] = shades[shade < 0 ? 0 : shade > 9 ? 9 : shade];
    }
    line[kPictureColumns] = '\0';
    printf("    |%s|\n", line);
  }
}

// Colours of a terminal's 256, from cold to hot.
static int colour_of(double temperature) {
  static const int colours[] = {16,  17,  18,  54,  90,  126, 162, 161, 160,
                                196, 202, 208, 214, 220, 226, 228, 230};
  enum { kColours = sizeof colours / sizeof *colours };
  const int index = (int)(temperature / 100.0 * kColours);
  return colours[index < 0 ? 0 : index >= kColours ? kColours - 1 : index];
}

// Each letter is an upper half block: its two colours are two cells of the picture, one above the other.
static void draw_frame(const double* plate, int cells, int frame) {
  enum { kRows = kPictureColumns / 2 };
  if (frame > 0) printf("\033[%dA", kRows);  // over the frame before
  for (int row = 0; row < kRows; ++row) {
    printf("    ");
    for (int column = 0; column < kPictureColumns; ++column) {
      const size_t upper = ((size_t)row * 4 + 1) * cells / (4 * kRows),
                   lower = ((size_t)row * 4 + 3) * cells / (4 * kRows);
      const size_t x = ((size_t)column * 2 + 1) * cells / (2 * kPictureColumns);
      printf("\033[38;5;%d;48;5;%dm\xe2\x96\x80", colour_of(plate[upper * cells + x]),
             colour_of(plate[lower * cells + x]));
    }
    printf("\033[0m\n");
  }
  fflush(stdout);
  const struct timespec pause = {0, kFrameMilliseconds * 1000000L};
  nanosleep(&pause, NULL);
}

static int report(const double* plate, int cells, int steps, int ranks, const Place* place, double seconds,
                  const char* picture) {
  double serial_seconds;
  const double difference = largest_difference(plate, cells, steps, &serial_seconds);
  const int is_right = difference <= 1e-12;
  if (strcmp(picture, "none") == 0) {
    printf("    %3d rank%s %.3f s, %.2f times as fast as the serial program, result %s\n", ranks,
           ranks == 1 ? " " : "s", seconds, serial_seconds / seconds,
           is_right ? "correct" : "WRONG");
    return is_right;
  }
  printf("Heat in a plate: %d x %d cells, %d steps, %d rank%s as %d x %d tiles\n", cells, cells, steps, ranks,
         ranks == 1 ? "" : "s", place->ranks_down, place->ranks_across);
  if (strcmp(picture, "live") != 0) {
    draw(plate, cells);
    printf("    parallel %.3f s, serial %.3f s: %.2f times as fast\n", seconds, serial_seconds,
           serial_seconds / seconds);
  }
  printf("    largest difference from the serial solution: %g -- %s\n", difference,
         is_right ? "correct" : "WRONG");
  return is_right;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int cells = argc > 1 ? atoi(argv[1]) : kDefaultCells;
  const int steps = argc > 2 ? atoi(argv[2]) : kDefaultSteps;
  const char* const picture = argc > 3 ? argv[3] : "plain";
  const int steps_of_a_frame = strcmp(picture, "live") == 0 ? (steps + kFrames - 1) / kFrames : 0;
  const Place place = find_place(rank, ranks);
  if (cells < ranks || steps < 0) {
    if (rank == 0)
      fprintf(
          stderr,
          "usage: heat2d [cells per side, at least the number of ranks] [time steps] [plain|live|none]\n");
    MPI_Finalize();
    return 2;
  }

  Tile tile = make_tile(cells, rank / place.ranks_across, place.ranks_down, rank % place.ranks_across,
                        place.ranks_across);
  double* strips[4];
  for (int i = 0; i < 4; ++i) strips[i] = malloc(tile.rows * sizeof(double));
  heat_disc(&tile, cells);

  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < steps; ++i) {
    if (steps_of_a_frame && i % steps_of_a_frame == 0) {
      double* const frame = collect(&tile, cells, rank, ranks, &place);
      if (frame) draw_frame(frame, cells, i);
      free(frame);
    }
    swap_halos(&tile, &place, strips);
    step(&tile);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double seconds = MPI_Wtime() - start;

  double* plate = collect(&tile, cells, rank, ranks, &place);
  int is_right = plate ? report(plate, cells, steps, ranks, &place, seconds, picture) : 0;
  MPI_Bcast(&is_right, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < 4; ++i) free(strips[i]);
  free(plate);
  free(tile.now);
  free(tile.next);
  MPI_Finalize();
  return is_right ? 0 : 1;
}
